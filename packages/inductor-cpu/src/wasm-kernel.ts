/**
 * @file `WasmKernel`: what every generator of this package returns, and the calling convention.
 *
 * A kernel is one WebAssembly function `(args: i32, begin: i32, end: i32) -> ()` that does the work
 * items begin … end-1. What an item is, its generator chooses; items are independent, so any split of
 * [0, workItems) over threads is right, in any order.
 *
 * Argument block, at byte address `args` (8-byte aligned, in the shared memory):
 *
 *     i32  address of buffer parameter 0     (storage offset, arena or constant base already added)
 *     i32  address of buffer parameter 1
 *     …
 *     (padding to a multiple of 8 bytes)
 *     f64  scalar parameter 0
 *     f64  scalar parameter 1
 *     …
 *     i32  number of the check that failed, counted from one; 0 if none did   (only in kernels with checks)
 *     (padding to a multiple of 8 bytes)
 *     i64  the value that failed check 1
 *     …
 *     (padding to a multiple of 8 bytes)
 *     i32  symbolic size 0                  (only in kernels with symbolic sizes)
 *     i32  symbolic size 1
 *     …
 *
 * A kernel whose check fails writes these and returns, so that nothing is read or written at a place made
 * of the value; the runtime looks after the launch. Threads may fail at once: a value belongs to its check.
 *
 * Scratch memory that is private to a thread lies at the address in the mutable global `SCRATCH`
 * (`kernel.scratch`, exported by every assembled module; globals belong to an instance, and every
 * thread has its own). The runtime sets it once after instantiation to at least the largest
 * `scratchBytesPerThread` bytes of its kernels, 64-byte aligned.
 *
 * Kernels may read (never write) up to 64 bytes before the start and past the end of a buffer, as a
 * vector load at the tail or across the border of an image does: the heap keeps a page addressable in
 * front of its first block and behind its last.
 */
import type { KernelSchedule } from '@tessera/inductor-core';
import type { Size, SymInt } from '@tessera/shared';
import { global, i32 } from './emit/code.js';
import type { Global } from './emit/types.js';
import type { WasmFunction } from './emit/wasm-function.js';

/** Generated code of one kernel, not yet linked into a module. */
export interface WasmKernel {
  readonly name: string;
  /** Parameters `args`, `begin`, `end`; see the file header. */
  readonly func: WasmFunction;
  readonly workItems: Size;
  /** Symbolic sizes that the code reads from its argument block, in order; see the file header. */
  readonly sizes: readonly SymInt[];
  /** Estimated single-thread time of one item, in nanoseconds. */
  readonly costPerItem: number;
  readonly scratchBytesPerThread: number;
  /** Items must run in order on one thread (stores at computed indices may collide). */
  readonly needsSerial?: boolean;
  /** What the code was made of; see `KernelSource`. */
  readonly schedule?: () => KernelSchedule;
}

/** Address of the calling thread's scratch memory; see the file header. */
export const SCRATCH: Global<'i32'> = global('kernel.scratch', i32(0));

/**
 * What the calling thread's scratch memory holds that earlier calls of the same launch made: 0 if nothing is known of
 * earlier calls, 1 if there were none, above that a number of the kernel's own. Threads that share a launch make several
 * calls of it each.
 */
export const KEPT: Global<'i32'> = global('kernel.kept', i32(0));

/** Byte offset of the scalars in the argument block of a kernel with this many buffers. */
export function scalarsOffset(buffers: number): number {
  return (buffers * 4 + 7) & ~7;
}

/** Byte offset of what failed checks report. */
export function checksOffset(buffers: number, scalars: number): number {
  return scalarsOffset(buffers) + 8 * scalars;
}

/** Size of an argument block in bytes. */
export function argumentBlockBytes(buffers: number, scalars: number, checks: number): number {
  return checksOffset(buffers, scalars) + (checks === 0 ? 0 : 8 + 8 * checks);
}
