/**
 * @file `PlanMemory`: what loaded plans have on the device besides their tensors: constants, scratch memory, and places
 * for small results.
 *
 * Plans of one template share it: they run one after the other, so what is scratch memory for one is for all.
 */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { hostBytes } from '../memory/host-bytes.js';
import { OutputMemory } from './output-memory.js';
import { SLOT_BYTES } from '../memory/slab.js';
import type { WgpuMemory } from '../memory/wgpu-memory.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** See the file header. */
export class PlanMemory {
  readonly constants: readonly WgpuMemory[];
  private readonly scratch: WgpuMemory[] = [];
  private changes = 0;
  private readonly outputs = new Map<string, OutputMemory>();

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

  /** Changes whenever scratch memory is other memory than before. */
  get version(): number {
    return this.changes;
  }

  /**
   * A piece of the scratch memory, of at least so many bytes; another one where it was too small, or not to be had.
   *
   * @throws out-of-memory
   */
  scratchAt(piece: number, bytes: number): WgpuMemory {
    const { scratch, runtime } = this;
    const before = scratch[piece];
    if (before !== undefined && before.failure === null && before.bytes >= bytes) return before;
    const memory = (scratch[piece] = runtime.allocate(bytes));
    if (before !== undefined) runtime.free(before);
    this.changes++;
    return memory;
  }

  /** Where output number `index` of a plan is put, of so many bytes: for sizes that get equal memory, the same. */
  output(index: number, bytes: number): OutputMemory {
    const { pool } = this.runtime;
    const key = `${index}:${bytes > SLOT_BYTES ? pool.sizeOf(bytes) : 0}`;
    let home = this.outputs.get(key);
    if (home === undefined) this.outputs.set(key, (home = new OutputMemory(pool, bytes)));
    return home;
  }

  /** Frees everything. */
  dispose(): void {
    for (const memory of [...this.scratch, ...this.constants]) this.runtime.free(memory);
    for (const home of this.outputs.values()) home.close();
  }
}
