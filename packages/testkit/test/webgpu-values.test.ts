/**
 * @file Values on WebGPU that are easily wrong: NaN in comparisons, long sums, int64 beyond 32 bits, empty and
 * long rows in order, draws by weight.
 */
import { compile, initWebGpu } from '@tessera/compile';
import {
  type Tensor,
  arange,
  download,
  full,
  fullLike,
  grad,
  manualSeed,
  multinomial,
  ones,
  rand,
  searchsorted,
  sort,
  tensor,
  topk,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import { optim } from '@tessera/nn';
import { toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const gpu = (x: Tensor): Tensor => toDevice(x, 'wgpu');
const read = async (x: Tensor): Promise<unknown> => (await download(x)).toArray();
const item = async (x: Tensor): Promise<number> => (await download(x)).item() as number;

beforeAll(async () => {
  if (wantsGpu) await initWebGpu();
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  describe('NaN', () => {
    const cases: [string, (x: Tensor) => Tensor, boolean[]][] = [
      ['differs from 0', (x) => x.ne(0), [true, true, false]],
      ['differs from itself', (x) => x.ne(x), [true, false, false]],
      ['equals nothing', (x) => x.eq(x), [false, true, true]],
      ['is true', (x) => x.to('bool'), [true, true, false]],
      ['is true to a negation', (x) => x.logicalNot(), [false, false, true]],
      ['is true to any', (x) => x.view([3, 1]).any(1), [true, true, false]],
      ['is true to where', (x) => x.to('bool').logicalAnd(x.ne(1)), [true, false, false]],
    ];
    it.each(cases)('%s, eager and compiled', async (_, fn, expected) => {
      const x = gpu(tensor([NaN, 1, 0]));
      expect(await read(fn(x))).toEqual(expected);
      expect(await read(compile(fn)(x))).toEqual(expected);
    });
  });

  describe('literal zeros beside zero, NaN and infinity', () => {
    const x = [0, -0, NaN, Infinity, -2];
    const cases: [string, (x: Tensor) => Tensor, number[]][] = [
      ['divided', (x) => zerosLike(x).div(x), [NaN, NaN, NaN, 0, -0]],
      ['negative, divided', (x) => fullLike(x, -0).div(x), [NaN, NaN, NaN, -0, 0]],
      [
        'divided, cut',
        (x) => zerosLike(x).div(x, { roundingMode: 'trunc' }),
        [NaN, NaN, NaN, 0, -0],
      ],
      [
        'divided, floored',
        (x) => zerosLike(x).div(x, { roundingMode: 'floor' }),
        [NaN, NaN, NaN, 0, -0],
      ],
      ['multiplied', (x) => x.mul(0), [0, -0, NaN, NaN, -0]],
      ['negative, multiplied', (x) => x.mul(-0), [-0, 0, NaN, NaN, 0]],
    ];
    it.each(cases)('%s, as on the CPU', async (_, fn, expected) => {
      expect(fn(tensor(x)).toArray()).toEqual(expected);
      expect(await read(compile(fn)(gpu(tensor(x))))).toEqual(expected);
    });
  });

  it.each([0, 1])('the variance of nothing is NaN, corrected by %s', async (correction) => {
    const x = gpu(zeros([0, 2]));
    expect(await read(x.var(null, { correction }))).toBe(NaN);
    expect(await read(x.std([0], { correction }))).toEqual([NaN, NaN]);
  });

  it('int64 elements take four bytes each: views by strides reach all of them, and no more', async () => {
    const whole = gpu(arange(6, { dtype: 'int64' }));
    expect(await read(whole.asStrided([3, 2], [1, 3]))).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(() => whole.asStrided([7], [1])).toThrow('out of bounds for storage');
    const x = gpu(ones([4])).requiresGrad_();
    const [gradient] = grad(x.asStrided([3, 2], [1, 1]).sum(), [x]);
    expect(await read(gradient!)).toEqual([1, 2, 2, 1]);
  });

  it('int64 elements that two arguments share, of which one is modified', async () => {
    for (const backend of ['aot_eager', 'inductor']) {
      const fn = compile((x: Tensor, y: Tensor) => void x.add_(x).add_(y), { backend });
      const whole = gpu(arange(8, { dtype: 'int64' }));
      const x = whole.view([4, 2]).slice(-1, 0, null, 2);
      fn(x, x.detach());
      expect(await read(whole)).toEqual([0, 1, 8, 3, 16, 5, 24, 7]);
    }
  });

  it('eager indexing by an integer tensor', async () => {
    const at = gpu(tensor([2, 0], { dtype: 'int64' }));
    expect(await read(gpu(tensor([10, 11, 12])).index(at))).toEqual([12, 10]);
  });

  describe('float32 sums of millions stay within a millionth', () => {
    const close = async (actual: Tensor, expected: number): Promise<void> => {
      for (const value of (await read(actual.flatten())) as number[])
        expect(Math.abs(value - expected) / expected).toBeLessThan(1e-6);
    };
    const tenth = Math.fround(0.1);
    const count = 4_000_000;
    const cases: [string, (x: Tensor) => Tensor, number][] = [
      ['sum', (x) => x.sum(), count * tenth],
      ['mean', (x) => x.mean(), tenth],
      ['of columns', (x) => x.view([count / 8, 8]).sum(0), (count / 8) * tenth],
      ['of rows', (x) => x.view([8, count / 8]).sum(1), (count / 8) * tenth],
      ['of an odd number', (x) => x.narrow(0, 0, count - 7).sum(), (count - 7) * tenth],
      [
        'over outer and inner dimensions',
        (x) => x.view([count / 80, 20, 4]).sum([0, 2]),
        (count / 20) * tenth,
      ],
    ];
    it.each(cases)('%s', async (_, fn, expected) => {
      const x = full([count], 0.1, { device: 'wgpu' });
      await close(fn(x), expected);
      await close(compile(fn)(x), expected);
      x.dispose();
    });

    it('20 million', async () => {
      await close(full([20e6], 0.1, { device: 'wgpu' }).sum(), 20e6 * tenth);
    });

    it('infinite ones stay infinite', async () => {
      const x = full([count], 0.1, { device: 'wgpu' });
      x.narrow(0, count - 5, 1).fill_(-Infinity);
      expect(await item(x.sum())).toBe(-Infinity);
    });
  });

  it('variances of millions stay within a hundred thousandth', async () => {
    manualSeed(1);
    const x = rand([64, 40_000]).add(1);
    const expected = x.to('float64').var(1).toArray() as number[];
    const actual = (await read(gpu(x).var(1))) as number[];
    actual.forEach((value, i) => expect(Math.abs(value / expected[i]! - 1)).toBeLessThan(1e-5));
  });

  describe('int64 beyond 32 bits', () => {
    const lost: [string, () => Tensor][] = [
      ['sum', () => arange(100_000, { device: 'wgpu' }).sum()],
      ['sum of few', () => full([3], 2 ** 30, { device: 'wgpu' }).sum()],
      ['cumsum', () => full([200], 2 ** 30, { device: 'wgpu' }).cumsum(0)],
      ['prod', () => full([40], 2, { device: 'wgpu' }).prod()],
      ['product', () => full([1], 2 ** 20, { device: 'wgpu' }).mul(2 ** 20)],
      ['sum of two', () => full([1], 2 ** 30, { device: 'wgpu' }).add(2 ** 30)],
      ['difference', () => full([1], -(2 ** 30), { device: 'wgpu' }).sub(2 ** 30 + 1)],
      [
        'what follows from one',
        () =>
          arange(100_000, { device: 'wgpu' })
            .sum()
            .sub(2 ** 31 - 1),
      ],
      ['a large number', () => full([1], 1, { device: 'wgpu' }).add(5e9)],
    ];
    it.each(lost)('%s is refused when read', async (_, fn) => {
      const refusal = expect.objectContaining({ code: 'invalid-argument' }) as unknown;
      await expect((async () => read(fn()))()).rejects.toEqual(refusal);
      await expect((async () => read(compile(fn)()))()).rejects.toEqual(refusal);
    });

    it('is NaN as a float', async () => {
      const mean = (): Tensor => arange(100_000, { device: 'wgpu' }).sum().to('float32').div(1e5);
      expect(await item(mean())).toBeNaN();
      expect(await item(compile(mean)())).toBeNaN();
    });

    it('numbers beyond it compare as what they are', async () => {
      const fns: [(x: Tensor) => Tensor, boolean][] = [
        [(x) => x.lt(1e19), true],
        [(x) => x.gt(-1e19), true],
        [(x) => x.eq(2 ** 31 - 1), false],
      ];
      for (const [fn, expected] of fns) {
        const x = gpu(tensor([3], { dtype: 'int64' }));
        expect(await read(fn(x))).toEqual([expected]);
        expect(await read(compile(fn)(x))).toEqual([expected]);
      }
      expect(
        await read(compile((x: Tensor) => x.lt(5e9))(gpu(tensor([3], { dtype: 'int64' })))),
      ).toEqual([true]);
    });

    it('sums that return below the limit are right', async () => {
      const x = tensor([2 ** 30, 2 ** 30, 2 ** 30, -(2 ** 30), -(2 ** 30), -5], { dtype: 'int64' });
      expect(await item(gpu(x).sum())).toBe(2 ** 30 - 5);
      expect(await item(arange(60_000, { device: 'wgpu' }).sum())).toBe(1_799_970_000);
      expect(
        await item(
          gpu(tensor([-7, 3], { dtype: 'int64' }))
            .mul(-3)
            .prod(),
        ),
      ).toBe(-189);
    });
  });

  describe('order', () => {
    it('of nothing', async () => {
      expect(
        await read(compile((x: Tensor) => sort(x, 0)[0])(zeros([0, 3], { device: 'wgpu' }))),
      ).toEqual([]);
      expect(await read(topk(zeros([2, 3], { device: 'wgpu' }), 0)[1])).toEqual([[], []]);
    });

    it.each([1025, 2048, 5000])('of long rows is that of the CPU: %i', async (length) => {
      manualSeed(2);
      // Ties and NaN among them.
      const x = rand([2, length]).mul(300).floor();
      const y = x.div(x.ne(7).to('float32')).mul(x.ne(7).to('float32'));
      for (const descending of [false, true]) {
        const [values, at] = sort(y, 1, { descending });
        const [actual, places] = sort(gpu(y), 1, { descending });
        expect(await read(actual)).toEqual(values.toArray());
        expect(await read(places)).toEqual(at.toArray());
      }
    });

    it.each([1, 16, 17, 64, 1000, 4097])(
      'searches among %i are those of the CPU',
      async (length) => {
        manualSeed(6);
        const sequence = sort(rand([2, length]).mul(length).floor(), 1)[0];
        const last = sequence.narrow(1, length - 1, 1);
        last.copy_(tensor([[NaN], [Infinity]]));
        const values = rand([2, 50])
          .mul(length + 2)
          .floor()
          .sub(1);
        values.narrow(1, 0, 3).copy_(tensor([NaN, Infinity, -Infinity]));
        const [back, sorter] = [sequence.flip(1), arange(length).flip(0).expand([2, length])];
        for (const right of [false, true]) {
          const expected = searchsorted(sequence, values, { right }).toArray();
          const search = (a: Tensor, b: Tensor): Tensor => searchsorted(a, b, { right });
          expect(await read(search(gpu(sequence), gpu(values)))).toEqual(expected);
          expect(await read(compile(search)(gpu(sequence), gpu(values)))).toEqual(expected);
          const sorted = searchsorted(gpu(back), gpu(values), { right, sorter: gpu(sorter) });
          expect(await read(sorted)).toEqual(expected);
        }
        const number = searchsorted(gpu(sequence.select(0, 1)), 2.5);
        expect(await read(number)).toEqual(searchsorted(sequence.select(0, 1), 2.5).toArray());
      },
    );

    it('topk of a vocabulary', async () => {
      const x = arange(50_257).mul(7919).remainder(50_257).to('float32');
      const [values, at] = topk(x, 5);
      const [actual, places] = topk(gpu(x), 5);
      expect(await read(actual)).toEqual(values.toArray());
      expect(await read(places)).toEqual(at.toArray());
    });
  });

  describe('multinomial', () => {
    const weights = tensor([
      [0, 1, 3, 0, 2],
      [1, 0, 0, 0, 0],
    ]);
    it.each([false, true])('draws what the CPU draws, replacement %s', async (replacement) => {
      const count = replacement ? 200 : 1;
      manualSeed(3);
      const expected = multinomial(weights, count, { replacement }).toArray();
      manualSeed(3);
      expect(await read(multinomial(gpu(weights), count, { replacement }))).toEqual(expected);
    });

    it('in order without replacement', async () => {
      manualSeed(4);
      const expected = multinomial(ones([10]), 10).toArray();
      manualSeed(4);
      expect(await read(multinomial(ones([10], { device: 'wgpu' }), 10))).toEqual(expected);
    });

    it.each([[[1, -1]], [[1, NaN]], [[1, Infinity]], [[0, 0]]])(
      'refuses %s when read',
      async (bad) => {
        await expect(read(multinomial(gpu(tensor(bad)), 1))).rejects.toMatchObject({
          code: 'invalid-argument',
        });
      },
    );
  });

  it('LBFGS with awaited losses goes the way of the CPU, and says so where it would have to wait', async () => {
    const way = async (device: 'cpu' | 'wgpu'): Promise<[number, number[]]> => {
      const x = toDevice(tensor([-1.2, 1, 0.5]), device).requiresGrad_();
      const unused = toDevice(ones([2]), device).requiresGrad_();
      const optimizer = new optim.LBFGS([x, unused], { lineSearchFn: 'strong_wolfe', maxIter: 8 });
      const closure = (): Tensor => {
        optimizer.zeroGrad();
        const loss = x.sub(2).square().mul(x.square().add(1)).sum();
        loss.backward();
        return loss;
      };
      if (device === 'wgpu')
        expect(() => optimizer.step(closure)).toThrow(
          expect.objectContaining({ code: 'data-async-only' }),
        );
      const first = await optimizer.stepAsync(closure);
      return [await first.item(), (await read(x)) as number[]];
    };
    const [[loss, at], [expected, wanted]] = [await way('wgpu'), await way('cpu')];
    expect(loss).toBeCloseTo(expected, 4);
    at.forEach((value, i) => expect(value).toBeCloseTo(wanted[i]!, 3));
  });
});
