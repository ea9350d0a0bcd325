/**
 * @file `shelf`: a device whose memory is host memory that kernels of the CPU cannot reach. Its kernels are the
 * reference kernels, run on copies.
 */
import {
  type DeviceMemory,
  type DeviceRuntime,
  type Tensor,
  isTensor,
  itemSize,
  registerDevice,
} from '../../src/index.js';
import {
  emptyFromMeta,
  readNumbers,
  registerKernelProvider,
  storageExtent,
  makeTensor,
} from '../../src/internal.js';
import { cpuHeap } from '../../src/heap/cpu-heap.js';

declare module '../../src/index.js' {
  interface DeviceTypes {
    readonly shelf: true;
  }
}

const runtime: DeviceRuntime = {
  type: 'shelf',
  itemSize,
  allocate: (bytes) => new Uint8Array(bytes),
  free: () => undefined,
  upload: (memory, offset, dtype, host) =>
    (memory as Uint8Array).set(host, offset * itemSize(dtype)),
  download: async (memory, offset, dtype, count) =>
    (memory as Uint8Array).slice(offset * itemSize(dtype), (offset + count) * itemSize(dtype)),
  copy: (src: DeviceMemory, srcByte, dst: DeviceMemory, dstByte, bytes) =>
    (dst as Uint8Array).set((src as Uint8Array).subarray(srcByte, srcByte + bytes), dstByte),
  synchronize: async () => undefined,
};

/** A CPU tensor with the memory of one on the shelf. */
function fetched(source: Tensor): Tensor {
  const { sizes, strides, dtype, storage, storageOffset } = source;
  const bytes = storageExtent(sizes, strides) * itemSize(dtype);
  const from = storageOffset * itemSize(dtype);
  const copy = emptyFromMeta({
    sizes: [bytes / itemSize(dtype)],
    strides: [1],
    dtype,
    device: 'cpu',
  });
  cpuHeap().u8.set((storage.memory as Uint8Array).subarray(from, from + bytes), copy.dataPtr());
  return makeTensor(copy.storage, dtype, 'cpu', sizes, strides);
}

function stored(values: Tensor, target: Tensor): void {
  const { dtype, storage, storageOffset, sizes, strides } = target;
  const bytes = storageExtent(sizes, strides) * itemSize(dtype);
  const at = values.dataPtr();
  (storage.memory as Uint8Array).set(
    cpuHeap().u8.slice(at, at + bytes),
    storageOffset * itemSize(dtype),
  );
}

/** Values of a tensor on the shelf. */
export function onShelf(tensor: Tensor): number[] {
  if (tensor.device !== 'shelf') throw new Error(`the tensor is on ${tensor.device}`);
  return Array.from(readNumbers(fetched(tensor)));
}

/** Makes the device usable. */
export function registerShelf(): void {
  registerDevice(runtime);
  registerKernelProvider('shelf', {
    run(op, args, outs) {
      if (op.record.kernel === undefined || outs.some((out) => out.device !== 'shelf'))
        return false;
      const fetch = (arg: unknown): unknown =>
        isTensor(arg) ? fetched(arg) : Array.isArray(arg) ? arg.map(fetch) : arg;
      const made = outs.map(fetched);
      op.record.kernel(op.bind(args.map(fetch)), made);
      outs.forEach((out, i) => stored(made[i]!, out));
      return true;
    },
  });
}
