/**
 * @file `random_`: a tensor filled with whole numbers. @see torch.Tensor.random_
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES, type DType } from '../../dtype.js';
import { iinfo, finfo } from '../../number-limits.js';
import type { Tensor } from '../../tensor.js';
import { copy_ } from '../arrange/copy.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { remainder } from '../pointwise/division.js';
import { randint } from './random.js';
import { checkTensors } from '../../check-tensors.js';

/** Beyond as many numbers, one draw has too few bits. */
const NARROW = 2 ** 32;

/** What follows the largest number that `random_()` draws of a dtype: of floats, of the whole ones that they hold all. */
function endOf(dtype: DType): number {
  if (dtype === 'bool') return 2;
  if (DTYPES[dtype].category === 'floating') return 2 / finfo(dtype).eps + 1;
  return Number(iinfo(dtype).max) + (dtype === 'int64' ? 0 : 1);
}

/** Whether a dtype has a number. */
function holds(dtype: DType, value: number): boolean {
  if (dtype === 'bool') return value === 0 || value === 1;
  const { min, max } = DTYPES[dtype].category === 'floating' ? finfo(dtype) : iinfo(dtype);
  return value >= min && value <= max;
}

/** Whole numbers from `from` to before `to`. */
function drawn(self: Tensor, from: number, to: number): Tensor {
  const { sizes, device } = self;
  const options = { dtype: 'int64', device } as const;
  const range = to - from;
  if (range <= NARROW) return add(randint(0, range, sizes, options), from);
  // Two halves of 31 and 32 bits; of all that int64 has nothing is to be cut off.
  const high = mul(randint(0, 2 ** 31, sizes, options), 2 ** 32);
  const bits = add(high, randint(0, 2 ** 32, sizes, options));
  return range >= 2 ** 63 ? bits : add(remainder(bits, range), from);
}

/**
 * Fills self with whole numbers from `from` to before `to`; one number is `to`, and without any they are all that the
 * dtype has from 0 on (of floats, as far as each whole number is one).
 *
 * @throws invalid-argument, inplace-leaf
 * @example random_(empty([3]), 10) // three of 0 … 9
 */
export function random_(self: Tensor): Tensor;
export function random_(self: Tensor, to: number): Tensor;
export function random_(self: Tensor, from: number, to: number | null): Tensor;
export function random_(self: Tensor, first?: number, last?: number | null): Tensor {
  checkTensors('random_', { self });
  const { dtype } = self;
  const from = last === undefined ? 0 : first!;
  const to = (last === undefined ? first : last) ?? endOf(dtype);
  for (const bound of [from, to])
    if (typeof bound !== 'number' || !Number.isInteger(bound))
      refuse(`random_ expects whole numbers, but got ${String(bound)}`);
  if (!(from < to))
    refuse(`random_ expects 'from' to be less than 'to', but got from=${from} >= to=${to}`);
  if (!holds(dtype, from)) refuse(`from is out of bounds for ${dtype}`);
  // Of int64 a double rounds the largest number to the end.
  if (to !== endOf(dtype) && !holds(dtype, to - 1)) refuse(`to - 1 is out of bounds for ${dtype}`);
  return copy_(self, drawn(self, from, to));
}

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', message, {
    hints: ['The bounds are whole numbers of the dtype; the upper one is exclusive.'],
  });
}
