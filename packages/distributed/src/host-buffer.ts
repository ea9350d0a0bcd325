/**
 * @file `HostBuffer`: contiguous elements in CPU memory, as communicators see them.
 */
import { type DType, type Tensor, cpuHeap, itemSize } from '@tessera/tensor';
import { needsAwaiting } from './needs-awaiting.js';

/** See the file header. */
export interface HostBuffer {
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly byteLength: number;
  /** Sizes of the tensor that it holds, for messages; a vector if left out. */
  readonly shape?: readonly number[];
  /**
   * The bytes, in place. Ask again after anything may have allocated: the memory may grow, and the array that
   * showed it is then empty.
   */
  view(): Uint8Array;
}

/** A piece of the heap that holds every CPU tensor, without a copy. */
export function heapBuffer(
  address: number,
  dtype: DType,
  length: number,
  shape: readonly number[] = [length],
): HostBuffer {
  const byteLength = length * itemSize(dtype);
  return {
    dtype,
    length,
    byteLength,
    shape,
    view: () => cpuHeap().u8.subarray(address, address + byteLength),
  };
}

/** The elements of a contiguous CPU tensor, in place. @throws data-async-only for one on another device */
export function tensorBuffer(tensor: Tensor): HostBuffer {
  const { device, dtype, numel, sizes } = tensor;
  if (device !== 'cpu') throw needsAwaiting('tensorBuffer', device);
  return heapBuffer(tensor.dataPtr(), dtype, numel, sizes);
}

/** Elements in an array of the program's. */
export function arrayBuffer(bytes: Uint8Array, dtype: DType): HostBuffer {
  return {
    dtype,
    length: bytes.byteLength / itemSize(dtype),
    byteLength: bytes.byteLength,
    view: () => bytes,
  };
}
