/**
 * @file What random graphs are drawn from: shapes, dtypes, awkward numbers, and tensors of those.
 */
import { type DType, type Tensor, isFloatingPoint, tensor } from '@tessera/tensor';
import { picker } from './picker.js';

/** Shapes of inputs and constants. */
export const SHAPES: readonly (readonly number[])[] = [
  [4],
  [2, 3],
  [3, 2],
  [3, 3],
  [2, 2, 3],
  [1, 4],
  [6],
  [],
  [1, 2, 4, 4],
];

/** Their dtypes, the common ones more often. */
export const DTYPES: readonly DType[] = [
  'float32',
  'float32',
  'float32',
  'float64',
  'int64',
  'bool',
  'float16',
];

/** Numbers beside tensors of floats, and of integers. */
export const NUMBERS: readonly number[] = [0, 1, -1, 2, 0.5, -0, NaN, Infinity, 3];
export const WHOLE: readonly number[] = [0, 1, -1, 2, 2 ** 31, 3];

/** A tensor of fixed, awkward values. */
export function filled(sizes: readonly number[], dtype: DType, salt: number): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  const pick = picker(salt);
  const values = Array.from({ length: numel }, () => {
    if (dtype === 'bool') return pick(2);
    if (!isFloatingPoint(dtype)) return pick(9) - 4;
    return pick(12) === 0 ? [-0, NaN, Infinity, 0][pick(4)]! : (pick(64) - 32) / 8;
  });
  return tensor(values, { dtype }).reshape([...sizes]);
}
