/**
 * @file 16-bit floats that are only moved keep their bits, signalling NaN included.
 */
import { type DType, type Tensor, cat, cpuHeap, empty } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

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
