/**
 * @file `PlanMemory`: what loaded plans have on the device besides their tensors: constants, scratch memory, and places
 * for small results.
 *
 * Plans of one template share it: they run one after the other, so scratch memory of the same size is the same memory.
 */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { hostBytes } from './host-bytes.js';
import { OutputMemory } from './output-memory.js';
import { SLOT_BYTES } from './slab.js';
import type { WgpuMemory } from './wgpu-memory.js';
import type { WgpuRuntime } from './wgpu-runtime.js';

/** See the file header. */
export class PlanMemory {
  readonly constants: readonly WgpuMemory[];
  /** Scratch memory by bytes. */
  private readonly scratch = new Map<number, WgpuMemory[]>();
  private readonly small: OutputMemory[] = [];

  /** @throws out-of-memory */
  constructor(
    private readonly runtime: WgpuRuntime,
    constants: ExecutionPlan['constants'],
  ) {
    this.constants = constants.map(({ dtype, values }) => {
      const memory = runtime.allocate(values.length * runtime.itemSize(dtype));
      runtime.upload(memory, 0, dtype, hostBytes(dtype, values));
      return memory;
    });
  }

  /** Scratch memory number `index` among that of so many bytes; another one where it was not to be had. @throws out-of-memory */
  scratchAt(bytes: number, index: number): WgpuMemory {
    const { scratch, runtime } = this;
    let same = scratch.get(bytes);
    if (same === undefined) scratch.set(bytes, (same = []));
    const before = same[index];
    if (before !== undefined && before.failure === null) return before;
    const memory = (same[index] = runtime.allocate(bytes));
    if (before !== undefined) runtime.free(before);
    return memory;
  }

  /** Where output number `index` of a plan is put, of so many bytes. */
  output(index: number, bytes: number): OutputMemory {
    const { pool } = this.runtime;
    if (bytes > SLOT_BYTES) return new OutputMemory(pool, bytes);
    return (this.small[index] ??= new OutputMemory(pool, bytes));
  }

  /** Frees everything. */
  dispose(): void {
    const scratch = [...this.scratch.values()].flat();
    for (const memory of [...scratch, ...this.constants]) this.runtime.free(memory);
    for (const home of this.small) home?.close();
  }
}
