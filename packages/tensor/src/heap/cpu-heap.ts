/**
 * @file The CPU heap: one WebAssembly memory that holds every CPU tensor.
 */
import { CachingHeap } from './caching-heap.js';
import { createWasmMemory } from './wasm-memory.js';

/** The heap that every CPU storage lives in. Addresses and sizes are bytes; addresses are unsigned. */
export interface CpuHeap {
  readonly memory: WebAssembly.Memory;
  /** Whether the memory is shared with worker threads. */
  readonly shared: boolean;
  /** Uninitialised memory, aligned to 64 bytes; zero bytes give a valid address. @throws out-of-memory */
  alloc(bytes: number): number;
  /** Returns a block for reuse. @throws invalid-argument when `ptr` is not the address of a live block */
  free(ptr: number): void;
  /** Views over the whole memory, fresh after growth. */
  readonly u8: Uint8Array;
  readonly i8: Int8Array;
  readonly i16: Int16Array;
  readonly u16: Uint16Array;
  readonly i32: Int32Array;
  readonly f32: Float32Array;
  readonly f64: Float64Array;
  readonly i64: BigInt64Array;
  stats(): HeapStats;
  /** Counts `peakBytes` from now on. */
  resetPeak(): void;
  /** Limits live bytes; going over is an out-of-memory error. `Infinity` lifts the limit. */
  setBudget(bytes: number): void;
}

/** Bytes: handed out, cached for reuse, highest live so far, memory size. */
export interface HeapStats {
  readonly liveBytes: number;
  readonly cachedBytes: number;
  readonly peakBytes: number;
  readonly committedBytes: number;
  readonly liveBlocks: number;
}

/** WebAssembly pages of a new memory: 16 MiB, which cost nothing until touched. */
const INITIAL_PAGES = 256;

let heap: CpuHeap | null = null;

/** The process-wide heap, created on first use. */
export function cpuHeap(): CpuHeap {
  return (heap ??= new CachingHeap(createWasmMemory(INITIAL_PAGES)));
}
