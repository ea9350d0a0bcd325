/**
 * @file Moving elements between the CPU heap and other devices.
 */
import { deviceRuntime } from './device.js';
import { itemSize } from './dtype.js';
import { cpuHeap } from './heap/cpu-heap.js';
import { readExact, writeNumbers } from './kernels/elements.js';
import { contiguousStrides, isContiguous, numelOf, sameNumbers, storageExtent } from './shape.js';
import { makeTensor } from './tensor-factory.js';
import { Storage } from './memory/storage.js';
import type { Tensor } from './tensor.js';

/** A CPU tensor with the values of `source` in the dtype and layout of `target`. */
function staged(source: Tensor, target: Tensor): Tensor {
  const layout = { sizes: target.sizes, strides: target.strides };
  const same =
    source.dtype === target.dtype &&
    sameNumbers(source.sizes, target.sizes) &&
    sameNumbers(source.strides, target.strides);
  if (same && isContiguous(source.sizes, source.strides)) return source;
  const storage = Storage.allocate(
    'cpu',
    storageExtent(layout.sizes, layout.strides) * itemSize(target.dtype),
  );
  const copy = makeTensor(storage, target.dtype, 'cpu', layout.sizes, layout.strides);
  writeNumbers(copy, readExact(source, layout.sizes));
  return copy;
}

/** Copies a CPU tensor's values into a tensor on another device, converting dtype and layout. */
export function uploadTo(source: Tensor, target: Tensor): void {
  if (numelOf(target.sizes) === 0) return;
  const host = staged(source, target);
  const bytes = storageExtent(host.sizes, host.strides) * itemSize(host.dtype);
  const from = host.dataPtr();
  deviceRuntime(target.device).upload(
    target.storage.memory!,
    target.storageOffset,
    target.dtype,
    cpuHeap().u8.slice(from, from + bytes),
  );
}

/** A CPU copy of a tensor on any device, without gradient history. @throws use-after-dispose */
export async function download(source: Tensor): Promise<Tensor> {
  const { sizes, strides, dtype } = source;
  source.storage.assertReadable('download()');
  const count = storageExtent(sizes, strides);
  const copy = makeTensor(
    Storage.allocate('cpu', count * itemSize(dtype)),
    dtype,
    'cpu',
    sizes,
    count === 0 ? contiguousStrides(sizes) : strides,
  );
  if (source.device === 'cpu') {
    writeNumbers(copy, readExact(source));
  } else if (count > 0) {
    const bytes = await deviceRuntime(source.device).download(
      source.storage.memory!,
      source.storageOffset,
      dtype,
      count,
    );
    cpuHeap().u8.set(bytes, copy.dataPtr());
  }
  return copy;
}
