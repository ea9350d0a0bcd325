/**
 * @file The part of koffi that the worker uses.
 */
import type { Handle } from './abi.js';

/** A function of a C library. Addresses go in as numbers. */
export type NativeFunction = (...args: readonly (Handle | ArrayBufferView)[]) => number;

/** A loaded library. */
export interface NativeLibrary {
  func(name: string, result: string, args: readonly string[]): NativeFunction;
  symbol(name: string): bigint;
}

/** See the file header. */
export interface Koffi {
  config(options: { sync_stack_size: number; async_stack_size: number }): void;
  load(path: string | null): NativeLibrary;
  proto(definition: string): object;
  pointer(type: object): object;
  register(callback: (...args: number[]) => void, type: object): bigint;
  view(address: bigint, bytes: number): ArrayBuffer;
}

/** Stacks for calls: koffi's default of 1 MiB is too small for MPI libraries, which then crash. */
export const STACKS: Parameters<Koffi['config']>[0] = {
  sync_stack_size: 8 << 20,
  async_stack_size: 4 << 20,
};
