/**
 * @file Reading values of devices that only answer asynchronously.
 *
 * The calls that give values at once on `cpu` give an awaitable that refuses every other use, so `await x.item()` works
 * everywhere and a forgotten `await` is a clear error.
 */
import { TesseraError } from '@tessera/shared';
import { deviceRuntime } from './device.js';
import type { DType } from './dtype.js';
import { forEachOffset } from './kernels/elements.js';
import { bfloatToNumber, halfToNumber } from './kernels/float16.js';
import { numelOf, storageExtent } from './shape.js';
import type { Tensor } from './tensor.js';

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
      if (key === 'then' || key === 'catch' || key === 'finally') return target[key].bind(target);
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

/** What `use` makes of the values of a tensor on another device, to be awaited. */
export function readLater<T>(tensor: Tensor, use: (values: Float64Array) => T, what: string): T {
  return awaitOnly<T>(downloadNumbers(tensor).then(use), what);
}
