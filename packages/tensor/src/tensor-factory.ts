/**
 * @file Making `Tensor` objects from parts.
 *
 * The class is bound late (`bindTensorClass`, called by tensor.ts), so that this file and all operators
 * need not import it.
 */
import { gradMode } from './autograd/grad-mode.js';
import type { DeviceMemory, DeviceType } from './device.js';
import { deviceRuntime } from './device.js';
import { TesseraError } from '@tessera/shared';
import { type DType, itemSize } from './dtype.js';
import { Storage } from './memory/storage.js';
import type { TensorMeta } from './op/op-record.js';
import { contiguousStrides, formatSizes, storageExtent } from './shape.js';
import { TensorBase } from './tensor-base.js';
import type { Tensor } from './tensor.js';

type TensorConstructor = new (
  storage: Storage | null,
  dtype: DType,
  device: DeviceType,
  sizes: readonly number[],
  strides: readonly number[],
  storageOffset: number,
) => Tensor;

let TensorClass: TensorConstructor | null = null;
let fakeMode = false;

/** Called once by tensor.ts. */
export function bindTensorClass(constructor: TensorConstructor): void {
  TensorClass = constructor;
}

/** Whether a value is a tensor of this copy of the package. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof TensorBase;
}

/** A tensor over existing storage (null: lazy). */
export function makeTensor(
  storage: Storage | null,
  dtype: DType,
  device: DeviceType,
  sizes: readonly number[],
  strides: readonly number[],
  storageOffset = 0,
): Tensor {
  return new TensorClass!(storage, dtype, device, sizes, strides, storageOffset);
}

/** Bytes that `numel` elements take on a device. @throws dtype-unsupported */
export function storageBytes(device: DeviceType, dtype: DType, numel: number): number {
  if (device === 'cpu') return numel * itemSize(dtype);
  const width = deviceRuntime(device).itemSize(dtype);
  if (width === 0) {
    throw new TesseraError('dtype-unsupported', `Device '${device}' cannot store ${dtype}.`, {
      context: { device, dtype },
      hints: [
        dtype === 'float64' ? "Convert first: x.to('float32')." : 'Use float32 or int32 there.',
      ],
    });
  }
  return width * numel;
}

/** Uninitialised tensor with the given layout. Fake inside `withFakeTensors`. @throws out-of-memory, shape-mismatch */
export function emptyFromMeta(meta: TensorMeta): Tensor {
  for (const size of meta.sizes) if (size < 0) negativeSize(meta.sizes, size);
  if (fakeMode) return fakeFromMeta(meta);
  return tensorOn(Storage.allocate(meta.device, bytesOf(meta)), meta);
}

/** Like `emptyFromMeta`, with memory of the device that the tensor owns from now on. */
export function emptyOnMemory(meta: TensorMeta, memory: DeviceMemory): Tensor {
  return tensorOn(Storage.adopt(meta.device, bytesOf(meta), memory), meta);
}

function bytesOf({ device, dtype, sizes, strides }: TensorMeta): number {
  return storageBytes(device, dtype, storageExtent(sizes, strides));
}

function tensorOn(storage: Storage, meta: TensorMeta): Tensor {
  storage.madeForDtype = meta.dtype;
  storage.madeForSizes = meta.sizes;
  storage.isInference = gradMode.inference;
  return makeTensor(storage, meta.dtype, meta.device, meta.sizes, meta.strides);
}

function negativeSize(sizes: readonly number[], size: number): never {
  throw new TesseraError(
    'shape-mismatch',
    `Trying to create tensor with negative dimension ${size}: ${formatSizes(sizes)}`,
    { hints: ['Sizes are zero or positive.'] },
  );
}

/** FakeTensor: metadata and an identity, no values. @throws shape-mismatch */
export function fakeFromMeta(meta: TensorMeta): Tensor {
  for (const size of meta.sizes)
    if (typeof size === 'number' && size < 0) negativeSize(meta.sizes, size);
  const extent = storageExtent(meta.sizes, meta.strides);
  const storage = Storage.fake(meta.device, extent * itemSize(meta.dtype));
  return makeTensor(storage, meta.dtype, meta.device, meta.sizes, meta.strides);
}

/** Contiguous uninitialised tensor. */
export function emptyContiguous(
  sizes: readonly number[],
  dtype: DType,
  device: DeviceType,
): Tensor {
  return emptyFromMeta({ sizes, strides: contiguousStrides(sizes), dtype, device });
}

/** Runs `fn` with factory ops giving FakeTensors. */
export function withFakeTensors<R>(fn: () => R): R {
  const saved = fakeMode;
  fakeMode = true;
  try {
    return fn();
  } finally {
    fakeMode = saved;
  }
}

/** Runs `fn` with factory ops giving tensors that hold data. */
export function withRealTensors<R>(fn: () => R): R {
  const saved = fakeMode;
  fakeMode = false;
  try {
    return fn();
  } finally {
    fakeMode = saved;
  }
}

/** Whether factories give FakeTensors now. */
export function isFakeMode(): boolean {
  return fakeMode;
}
