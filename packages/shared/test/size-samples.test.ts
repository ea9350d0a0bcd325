import { describe, expect, it } from 'vitest';
import {
  SampledNumbers,
  ShapeEnv,
  SizeSamples,
  isDetermined,
  remaindersIn,
  sizeFloorDiv,
  sizeMul,
} from '../src/index.js';

function samplesOf(...list: (readonly number[])[]): SizeSamples {
  return list.reduce((samples, sizes) => samples.with(sizes) ?? samples, new SizeSamples());
}

describe('samples of sizes', () => {
  it('determine others of one size once they are four', () => {
    const samples = samplesOf([4], [9], [4], [17]);
    expect(samples.at([5])).toBeNull();
    expect(samples.with([3])!.at([5])).toEqual([1, 5, 25, 125]);
  });

  it('need ten for two sizes that vary by themselves', () => {
    let samples = new SizeSamples();
    const sizes = [2, 3, 5, 9].flatMap((a, i) => [2, 4, 7, 8].slice(i).map((b) => [a, b]));
    sizes.forEach((pair, i) => {
      expect(samples.at([30, 50]), `after ${i}`).toBeNull();
      samples = samples.with(pair)!;
    });
    expect(samples.at([30, 50])).not.toBeNull();
  });

  it('that lie in a special way determine nothing, however many they are', () => {
    const sizes = Array.from({ length: 24 }, (_, i) => [i + 2, (i + 2) ** 2]);
    expect(samplesOf(...sizes).at(sizes[0]!)).toBeNull();
  });

  it('in which sizes went together determine only such', () => {
    const samples = samplesOf([4, 4, 9, 7], [9, 9, 19, 7], [17, 17, 35, 7], [3, 3, 7, 7]);
    expect(samples.at([5, 5, 11, 7])).not.toBeNull();
    expect(samples.at([5, 6, 11, 7])).toBeNull();
    expect(samples.at([5, 5, 12, 7])).toBeNull();
    expect(samples.at([5, 5, 11, 8])).toBeNull();
    expect(samples.at([5, 5, 11])).toBeNull();
  });

  it('learn that sizes do not go together after all', () => {
    const samples = samplesOf([4, 4], [9, 9], [17, 17], [3, 3]);
    expect(samples.at([5, 5])).not.toBeNull();
    expect(samples.with([5, 6])!.at([5, 5])).toBeNull();
  });

  it('are no longer collected where they would never determine anything', () => {
    const sizes = (i: number): number[] => [
      2 + i,
      2 + i ** 2,
      2 + ((i * 7) % 97),
      2 + ((i * i) % 89),
    ];
    const samples = samplesOf(...Array.from({ length: 500 }, (_, i) => sizes(i)));
    expect(samples.list.length).toBe(64);
    expect(samples.at(sizes(0))).toBeNull();
  });

  it('are one object for each sequence of them, which computes products of sizes once', () => {
    const start = samplesOf([4], [9]);
    const [one, two] = [start, start].map((from) => from.with([17])!.with([3])!);
    expect(one).toBe(two);
    expect(start.with([3])).not.toBe(start.with([17]));
    const sizes = [5];
    expect(one!.at(sizes)).toBe(two!.at(sizes));
  });

  it('agree on a polynomial of degree 3 wherever they determine it', () => {
    // Two polynomials of degree 4 may agree on four samples and differ elsewhere; of degree 3 none.
    const env = new ShapeEnv();
    const s = env.createSymbol(8, { source: 's', min: 2 });
    expect(isDetermined(sizeMul(s, sizeMul(s, s)))).toBe(true);
    expect(isDetermined(sizeMul(sizeMul(s, s), sizeMul(s, s)))).toBe(false);
    expect(isDetermined(sizeFloorDiv(s, 2))).toBe(true);
    expect(remaindersIn(sizeFloorDiv(s, 2)).map(String)).toEqual(['s0 % 2']);
    expect(isDetermined(sizeFloorDiv(7, s))).toBe(false);
    expect(isDetermined(7)).toBe(true);
  });
});

describe('numbers that samples determine', () => {
  it('are not known any more once a sample contradicts them', () => {
    const numbers = new SampledNumbers();
    for (const n of [4, 9, 17, 3]) numbers.add([0, n], [2 * n]);
    expect(numbers.at([0, 30])).toEqual([60]);
    numbers.add([0, 40], [80]);
    expect(numbers.at([0, 30])).not.toBeNull();
    numbers.add([0, 50], [64]);
    expect(numbers.at([0, 30])).toBeNull();
  });

  it('may be quotients, where these come out even', () => {
    const numbers = new SampledNumbers();
    for (const n of [4, 8, 16, 6]) numbers.add([n], [n / 2, (n * n) / 4, 7]);
    expect(numbers.at([30])).toEqual([15, 225, 7]);
    expect(numbers.at([31])).toBeNull();
    expect(numbers.varying).toEqual([0, 0, 1, 1]);
  });

  it('may be quotients of sizes whose remainders are told', () => {
    const numbers = new SampledNumbers();
    const at = (n: number): readonly [number[], number[]] => [
      [n, n % 2],
      [Math.floor(n / 2), Math.ceil(n / 2) * 3],
    ];
    for (const n of [4, 9, 17, 6, 3, 12]) numbers.add(...at(n));
    expect(numbers.at([31, 1])).toBeNull();
    numbers.add(...at(20));
    for (const n of [31, 30, 101, 1000]) expect(numbers.at(at(n)[0])).toEqual(at(n)[1]);
    expect(numbers.at([31, 2])).toBeNull();
  });

  it('that are one polynomial are computed once, for all lists that were seen at the same sizes', () => {
    const start = new SizeSamples();
    const [one, two] = [new SampledNumbers(start), new SampledNumbers(start)];
    for (const n of [4, 8, 16, 6]) {
      one.add([n], [n, 2 * n, n]);
      two.add([n], [3, 2 * n]);
    }
    expect(one.varying).toEqual([0, 0, 2, 0, 1, 1]);
    expect(two.varying).toEqual([1, 1]);
    const sizes = [9];
    expect([one.at(sizes), two.at(sizes)]).toEqual([
      [9, 18, 9],
      [3, 18],
    ]);
    expect(one.samples.values).toEqual([9, 18]);
  });

  it('are not known where they would not be exact', () => {
    const numbers = new SampledNumbers();
    for (const n of [4, 8, 16, 6]) numbers.add([n], [n ** 3]);
    expect(numbers.at([200_000])).toEqual([8e15]);
    expect(numbers.at([300_000])).toBeNull();
  });
});
