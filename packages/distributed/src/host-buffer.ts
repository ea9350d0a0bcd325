/**
 * @file `HostBuffer`: contiguous elements in CPU memory, as communicators see them.
 */
import { type DType, cpuHeap, itemSize } from '@tessera/tensor';

/** See the file header. */
export interface HostBuffer {
  readonly dtype: DType;
  /** Number of elements. */
  readonly length: number;
  readonly byteLength: number;
  /**
   * The bytes, in place. Ask again after anything may have allocated: the memory may grow, and the array that
   * showed it is then empty.
   */
  view(): Uint8Array;
}

/** A piece of the heap that holds every CPU tensor, without a copy. */
export function heapBuffer(address: number, dtype: DType, length: number): HostBuffer {
  const byteLength = length * itemSize(dtype);
  return {
    dtype,
    length,
    byteLength,
    view: () => cpuHeap().u8.subarray(address, address + byteLength),
  };
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
