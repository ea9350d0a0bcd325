/**
 * @file Reading a tensor's values into JavaScript.
 *
 * On `cpu` values are there at once. On other devices the same calls give something to await (read-later.ts).
 */
import { TesseraError } from '@tessera/shared';
import { transfers } from './device.js';
import type { DType } from './dtype.js';
import { readExact, readNumbers } from './kernels/elements.js';
import { formatSizes, numelOf } from './shape.js';
import type { Tensor } from './tensor.js';

/**
 * What a program says of itself to the type checker, by declaration merging. With `onlyCpu`, `item()` is a plain
 * number: no tensor is on a device whose values must be waited for.
 *
 * @example
 *   declare module '@tessera/tensor' {
 *     interface TypeChoices {
 *       onlyCpu: true;
 *     }
 *   }
 */
// oxlint-disable-next-line typescript/no-empty-object-type -- programs add to it
export interface TypeChoices {}

/** What `item()` gives: the number on `cpu`, and on other devices what must be awaited; `await` is right for both. */
export type Item = TypeChoices extends { readonly onlyCpu: true }
  ? number
  : number | PromiseLike<number>;

/** Nested arrays of numbers (booleans for bool tensors), one level per dimension; a number for 0-d. */
export type NestedNumbers = number | boolean | NestedNumbers[];

/** Typed array that holds a dtype's values. */
export type TypedValues =
  Float32Array | Float64Array | BigInt64Array | Int32Array | Int16Array | Int8Array | Uint8Array;

function withValues<T>(tensor: Tensor, what: string, use: (values: Float64Array) => T): T {
  // Reading `storage` first resolves a lazy tensor.
  tensor.storage.assertReadable(what);
  if (tensor.device === 'cpu') return use(readNumbers(tensor));
  return transfers.active!.readLater(tensor, use, what);
}

/** See Tensor.item. */
export function readItem(tensor: Tensor): Item {
  if (numelOf(tensor.sizes) !== 1) {
    throw new TesseraError(
      'invalid-argument',
      `item(): a Tensor with ${numelOf(tensor.sizes)} elements (shape ${formatSizes(tensor.sizes)}) cannot be converted to Scalar`,
      {
        hints: ['Reduce or index it first, or use toArray().'],
      },
    );
  }
  return withValues(tensor, 'item()', (values) => values[0]!);
}

/** The only element of a tensor that is known to be on `cpu`, where it is not awaited. @throws invalid-argument */
export function itemAtOnce(tensor: Tensor): number {
  // A program may have declared that `Item` is awaited.
  return readItem(tensor) as number;
}

/** Whether the only element of a tensor is not 0; awaitable on devices other than `cpu`, as `item`. */
export function readTruth(tensor: Tensor): boolean {
  return withValues(tensor, 'reading a truth value', (values) => values[0] !== 0);
}

/** See Tensor.toArray. */
export function readNested(tensor: Tensor): NestedNumbers {
  const { sizes, dtype } = tensor;
  return withValues(tensor, 'toArray()', (values) => nest(values, sizes, dtype === 'bool'));
}

/** The elements in row-major order; awaitable on devices other than `cpu`, as `toArray`. */
export function readList(tensor: Tensor): number[] {
  return withValues(tensor, 'toArray()', (values) => [...values]);
}

function nest(values: Float64Array, sizes: readonly number[], isBool: boolean): NestedNumbers {
  let level: NestedNumbers[] = Array.from(values, (value) => (isBool ? value !== 0 : value));
  for (let d = sizes.length - 1; d > 0; d--) {
    const size = sizes[d]!;
    const count = numelOf(sizes.slice(0, d));
    level = Array.from({ length: count }, (_, i) => level.slice(i * size, (i + 1) * size));
  }
  return sizes.length === 0 ? level[0]! : level;
}

/** See Tensor.toTypedArray. */
export function readTyped(tensor: Tensor): TypedValues {
  const { dtype, device } = tensor;
  // As doubles, integers beyond 2^53 would be others. (WebGPU stores 32 bits of them.)
  if (dtype === 'int64' && device === 'cpu') {
    tensor.storage.assertReadable('toTypedArray()');
    return BigInt64Array.from(readExact(tensor), BigInt);
  }
  return withValues(tensor, 'toTypedArray()', (values) => typedOf(values, dtype));
}

function typedOf(values: Float64Array, dtype: DType): TypedValues {
  switch (dtype) {
    case 'float64':
      return values;
    case 'int64':
      return BigInt64Array.from(values, (value) => BigInt(value));
    case 'int32':
      return Int32Array.from(values);
    case 'int16':
      return Int16Array.from(values);
    case 'int8':
      return Int8Array.from(values);
    case 'uint8':
    case 'bool':
      return Uint8Array.from(values);
    default:
      return Float32Array.from(values);
  }
}
