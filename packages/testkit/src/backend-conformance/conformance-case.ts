/**
 * @file A case of the conformance suite: a small program, run eagerly by the reference kernels and compiled.
 */
import { type DType, type Tensor, fromTypedArray } from '@tessera/tensor';
import type { Tolerance } from '../assert-close.js';

/** See the file header. Results, inputs afterwards, and gradients of inputs that require them are compared. */
export interface ConformanceCase {
  /** `group: what it shows`. */
  readonly name: string;
  /** How often the program is called; 3 by default. */
  readonly calls?: number;
  /** Fresh inputs on `cpu` for call number `call` (from 0): other values, and other sizes if they are the matter. */
  readonly inputs: (call: number) => Tensor[];
  /** The program: tensors in; a tensor or nested arrays of tensors out. */
  readonly run: (...inputs: Tensor[]) => unknown;
  /** Element types beside float32, int64 and bool that the backend must have for the case to apply. */
  readonly dtypes?: readonly DType[];
  /** Default: PyTorch's for the dtype, ten times that for float32. */
  readonly tolerance?: Tolerance;
}

/** Repeatable float32 numbers in (-2, 2), other ones for every `seed`. */
export function ramp(sizes: readonly number[], seed: number): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  const values = Float32Array.from({ length: count }, (_, i) => 2 * Math.sin(1.7 * i + 0.9 * seed));
  return fromTypedArray(values, sizes);
}

/** A `ramp` that requires grad. */
export function leaf(sizes: readonly number[], seed: number): Tensor {
  return ramp(sizes, seed).requiresGrad_();
}

/** Repeatable whole numbers from 0 to `limit`, exclusive. */
export function whole(
  sizes: readonly number[],
  limit: number,
  seed: number,
  dtype: DType = 'int64',
): Tensor {
  const count = sizes.reduce((product, size) => product * size, 1);
  const values = Int32Array.from(
    { length: count },
    (_, i) => (7 * i + 3 * seed + (i >> 2)) % limit,
  );
  return fromTypedArray(values, sizes).to(dtype);
}
