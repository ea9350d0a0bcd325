/**
 * @file Reading a tensor's values into JavaScript.
 *
 * On `cpu` values are there at once. On other devices the same calls give an awaitable that refuses
 * every other use, so `await x.item()` works everywhere and a forgotten `await` is a clear error.
 */
import { TesseraError } from '@tessera/shared';
import { deviceRuntime } from './device.js';
import type { DType } from './dtype.js';
import { readNumbers, readWholes } from './kernels/elements.js';
import { bfloatToNumber, halfToNumber } from './kernels/float16.js';
import { forEachOffset } from './kernels/elements.js';
import { formatSizes, numelOf, storageExtent } from './shape.js';
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

/** An awaitable that throws on any other use. */
function awaitOnly<T>(promise: Promise<unknown>, what: string): T {
  const refuse = (): never => {
    throw new TesseraError(
      'data-async-only',
      `${what} of a tensor on this device is not ready: it must be awaited.`,
      {
        hints: [`Write: await x.${what}`],
      },
    );
  };
  return new Proxy(promise, {
    get(target, key) {
      if (key === 'then' || key === 'catch' || key === 'finally')
        return (target[key] as (...args: unknown[]) => unknown).bind(target);
      if (key === Symbol.toStringTag) return 'Promise';
      return refuse();
    },
  }) as T;
}

function decode(bytes: Uint8Array, dtype: DType): (i: number) => number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (dtype) {
    case 'float32':
      return (i) => view.getFloat32(i * 4, true);
    case 'float64':
      return (i) => view.getFloat64(i * 8, true);
    case 'int64':
      return (i) => Number(view.getBigInt64(i * 8, true));
    case 'int32':
      return (i) => view.getInt32(i * 4, true);
    case 'int16':
      return (i) => view.getInt16(i * 2, true);
    case 'int8':
      return (i) => view.getInt8(i);
    case 'uint8':
      return (i) => view.getUint8(i);
    case 'bool':
      return (i) => (view.getUint8(i) === 0 ? 0 : 1);
    case 'float16':
      return (i) => halfToNumber(view.getUint16(i * 2, true));
    case 'bfloat16':
      return (i) => bfloatToNumber(view.getUint16(i * 2, true));
  }
}

/** Elements in row-major order of a tensor on another device. */
async function downloadNumbers(tensor: Tensor): Promise<Float64Array> {
  const storage = tensor.storage;
  storage.assertReadable('reading values');
  const out = new Float64Array(numelOf(tensor.sizes));
  const count = storageExtent(tensor.sizes, tensor.strides);
  if (count === 0) return out;
  const bytes = await deviceRuntime(tensor.device).download(
    storage.memory!,
    tensor.storageOffset,
    tensor.dtype,
    count,
  );
  const read = decode(bytes, tensor.dtype);
  forEachOffset(tensor.sizes, tensor.strides, (i, offset) => {
    out[i] = read(offset);
  });
  return out;
}

function withValues<T>(tensor: Tensor, what: string, use: (values: Float64Array) => T): T {
  // Reading `storage` first resolves a lazy tensor.
  tensor.storage.assertReadable(what);
  if (tensor.device === 'cpu') return use(readNumbers(tensor));
  return awaitOnly<T>(downloadNumbers(tensor).then(use), what);
}

/** See Tensor.item. */
export function readItem(tensor: Tensor): Item {
  if (numelOf(tensor.sizes) !== 1) {
    throw new TesseraError(
      'invalid-argument',
      `item(): a Tensor with ${numelOf(tensor.sizes)} elements (shape ${formatSizes(tensor.sizes)}) cannot be converted to Scalar`,
      {
        hints: ['Reduce or index to one element first, or use toArray().'],
      },
    );
  }
  return withValues(tensor, 'item()', (values) => values[0]!) as Item;
}

/** The only element of a tensor that is known to be on `cpu`, where it is not awaited. @throws invalid-argument */
export function itemAtOnce(tensor: Tensor): number {
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
    return readWholes(tensor);
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
