/**
 * @file `SizeSlots`: the symbolic sizes that the code of a kernel reads, and where they lie in its argument block.
 *
 * Whatever code needs of sizes (trip counts, strides in bytes, counts of items) is one expression, which the host
 * evaluates once for every choice of sizes; code only loads it.
 */
import type { FusedKernel } from '@tessera/inductor-core';
import { checksOf } from '@tessera/inductor-core';
import type { Size, SymInt } from '@tessera/shared';
import { i32, memory } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { argumentBlockBytes } from '../wasm-kernel.js';
import type { CodeOptions } from './vector-builder.js';

/** How the code of one kernel is generated. */
export interface KernelOptions extends CodeOptions {
  readonly sizes: SizeSlots;
}

/** Options for one kernel. */
export function kernelOptions(
  kernel: Exclude<FusedKernel<Size>, { kind: 'extern' }>,
  options: CodeOptions,
): KernelOptions {
  const { length } = checksOf(kernel).list;
  const bytes = argumentBlockBytes(kernel.params.length, kernel.scalars.length, length);
  return { ...options, sizes: new SizeSlots((bytes + 7) & ~7) };
}

/** See the file header. One serves all functions of a kernel. */
export class SizeSlots {
  readonly #slots = new Map<SymInt, number>();

  /** @param offset byte offset of the first size in the argument block */
  constructor(readonly offset: number) {}

  /** The expressions in the order of their slots. */
  get list(): readonly SymInt[] {
    return [...this.#slots.keys()];
  }

  /** A size: a constant, or a load from the argument block at `args`. */
  read(size: Size, args: Code<'i32'>): Code<'i32'> {
    if (typeof size === 'number') return i32(size);
    let slot = this.#slots.get(size);
    if (slot === undefined) this.#slots.set(size, (slot = this.#slots.size));
    return memory('i32.load', this.offset + 4 * slot, args);
  }
}
