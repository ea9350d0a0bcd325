/**
 * @file 16-bit floats that are only moved keep their bits, signalling NaN included.
 */
import { type DType, type Tensor, cat, cpuHeap, empty, tensor, tril, where } from '@tessera/tensor';
import { constantPad } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, useNarrowWeights } from '../src/index.js';

const SIDE = 256;

function bitsOf(x: Tensor): Uint16Array {
  const at = x.dataPtr() / 2;
  return cpuHeap().u16.slice(at, at + x.numel);
}

/** Every pattern of 16 bits, in order. */
function everyPattern(dtype: DType): Tensor {
  const x = empty([SIDE, SIDE], { dtype });
  const at = x.dataPtr() / 2;
  for (let i = 0; i < SIDE * SIDE; i++) cpuHeap().u16[at + i] = i;
  return x;
}

const at = (row: number, column: number): number => row * SIDE + column;
const MOVES: [string, (x: Tensor) => Tensor, (row: number, column: number) => number][] = [
  ['clone', (x) => x.clone(), at],
  ['transposed', (x) => x.t().contiguous(), (r, c) => at(c, r)],
  ['reversed', (x) => x.flip([1]), (r, c) => at(r, SIDE - 1 - c)],
  [
    'every other column',
    (x) => x.reshape([-1, 2]).t().contiguous().reshape([SIDE, SIDE]),
    (r, c) => {
      const place = at(r, c);
      const half = (SIDE * SIDE) / 2;
      return place < half ? 2 * place : 2 * (place - half) + 1;
    },
  ],
  [
    'joined',
    (x) => cat([x.narrow(0, 7, SIDE - 7), x.narrow(0, 0, 7)], 0),
    (r, c) => at((r + 7) % SIDE, c),
  ],
];

describe.each<DType>(['float16', 'bfloat16'])('%s', (dtype) => {
  it.each(MOVES)('%s', (_, move, from) => {
    const x = everyPattern(dtype);
    const wanted = Uint16Array.from({ length: SIDE * SIDE }, (_, i) =>
      from(Math.floor(i / SIDE), i % SIDE),
    );
    const firstOther = (y: Tensor): number => bitsOf(y).findIndex((bits, i) => bits !== wanted[i]);
    expect(firstOther(move(x))).toBe(-1);
    expect(firstOther(compile(move)(x))).toBe(-1);
  });

  it.each([2, 3, 4, 5, 6, 7])('rows of four, windows of %s joined', (n) => {
    const windows = (x: Tensor): Tensor => {
      const pairs = x.unfold(0, 2, 1);
      return cat([pairs, pairs], 2);
    };
    const x = everyPattern(dtype)
      .view([-1])
      .narrow(0, 1024, n * 3)
      .clone()
      .view([n, 3]);
    expect(bitsOf(compile(windows)(x))).toEqual(bitsOf(windows(x)));
  });
});

/** Some element, or a constant: what stands at a place, by its pattern. */
type Choice = (row: number, column: number) => number;
const NAN: Readonly<Record<string, number>> = { float16: 0x7e00, bfloat16: 0x7fc0 };
const ONE: Readonly<Record<string, number>> = { float16: 0x3c00, bfloat16: 0x3f80 };
const TENTH: Readonly<Record<string, number>> = { float16: 0x2e66, bfloat16: 0x3dcd };

describe.each<DType>(['float16', 'bfloat16'])(
  '%s that are chosen among keep their bits:',
  (dtype) => {
    // Programs for Node have it from the start.
    beforeAll(useNarrowWeights);

    const odd = tensor(
      Array.from({ length: SIDE }, (_, i) => i % 3 === 1),
      { dtype: 'bool' },
    );
    const isOdd = (column: number): boolean => column % 3 === 1;
    const constant = (value: number): Tensor => tensor(value, { dtype });
    const chosen: [string, (x: Tensor) => Tensor, Choice][] = [
      ['where', (x) => where(odd, x, x.t()), (r, c) => (isOdd(c) ? at(r, c) : at(c, r))],
      [
        'where of strided parts',
        (x) => where(odd, x.flip([0]), x.narrow(0, 3, 1)),
        (r, c) => (isOdd(c) ? at(SIDE - 1 - r, c) : at(3, c)),
      ],
      [
        'where within where',
        (x) => where(odd, x, where(odd.view([-1, 1]), x.t(), x.flip([1]))),
        (r, c) => (isOdd(c) ? at(r, c) : isOdd(r) ? at(c, r) : at(r, SIDE - 1 - c)),
      ],
      ['tril', (x) => tril(x), (r, c) => (c <= r ? at(r, c) : 0)],
      [
        'where with a tensor of one number',
        (x) => where(odd, x, constant(1)),
        (r, c) => (isOdd(c) ? at(r, c) : ONE[dtype]!),
      ],
      [
        'stacked columns',
        (x) =>
          cat(
            [x.narrow(1, 0, SIDE / 2).unsqueeze(2), x.narrow(1, SIDE / 2, SIDE / 2).unsqueeze(2)],
            2,
          ).reshape([SIDE, SIDE]),
        (r, c) => at(r, (c >> 1) + (c & 1) * (SIDE / 2)),
      ],
    ];

    /** Compiled: eager operators take numbers as they come, and compute with them. */
    const besideNumbers: typeof chosen = [
      [
        'where with a constant of minus zero',
        (x) => where(odd, x, -0),
        (r, c) => (isOdd(c) ? at(r, c) : 0x8000),
      ],
      ['where with NaN', (x) => where(odd, x, NaN), (r, c) => (isOdd(c) ? at(r, c) : NAN[dtype]!)],
      [
        'where with a tenth',
        (x) => where(odd, x, 0.1),
        (r, c) => (isOdd(c) ? at(r, c) : TENTH[dtype]!),
      ],
      [
        'padding',
        (x) => constantPad(x.narrow(0, 1, SIDE - 2).narrow(1, 1, SIDE - 2), [1, 1, 1, 1], 1),
        (r, c) => (r % (SIDE - 1) === 0 || c % (SIDE - 1) === 0 ? ONE[dtype]! : at(r, c)),
      ],
    ];

    function expectBits(y: Tensor, from: Choice): void {
      const other = bitsOf(y).findIndex((bits, i) => bits !== from(Math.floor(i / SIDE), i % SIDE));
      expect(other).toBe(-1);
    }

    it.each(chosen)('%s', (_, choose, from) => {
      const x = everyPattern(dtype);
      expectBits(choose(x), from);
      expectBits(compile(choose)(x), from);
    });

    it.each(besideNumbers)('%s', (_, choose, from) => {
      expectBits(compile(choose)(everyPattern(dtype)), from);
    });

    it('but what is also computed with is a number', () => {
      const x = everyPattern(dtype);
      const program = (y: Tensor): Tensor[] => [
        where(odd, y, y.t()),
        y.add(1),
        where(y.gt(0), y, y.t()),
      ];
      const [first, sum, positive] = compile(program)(x);
      const wanted = program(x);
      expect(bitsOf(sum!)).toEqual(bitsOf(wanted[1]!));
      for (const [i, got] of [first, positive].entries()) {
        const isSame = got!
          .eq(wanted[2 * i]!)
          .logicalOr(got!.isnan().logicalAnd(wanted[2 * i]!.isnan()));
        expect(isSame.all().item()).toBe(1);
      }
    });
  },
);

describe('bools that are chosen among', () => {
  beforeAll(useNarrowWeights);

  it.each<[string, (x: Tensor, mask: Tensor) => Tensor]>([
    ['where', (x, mask) => where(mask, x, x.t())],
    ['where with a constant', (x, mask) => where(mask, x, true)],
    ['tril', (x) => tril(x)],
    ['joined', (x) => cat([x, x.t()], 1)],
    ['where by themselves', (x) => where(x.gt(0), x, x.t())],
  ])('%s', (_, choose) => {
    const mask = tensor(
      Array.from({ length: 37 }, (_, i) => i % 3 === 1),
      { dtype: 'bool' },
    );
    const x = tensor(
      Array.from({ length: 37 }, (_, r) => Array.from({ length: 37 }, (_, c) => (r * c) % 5 < 2)),
      { dtype: 'bool' },
    );
    const wanted = choose(x.to('float32'), mask).to('bool').toArray();
    expect(choose(x, mask).toArray()).toEqual(wanted);
    expect(compile(choose)(x, mask).toArray()).toEqual(wanted);
  });
});
