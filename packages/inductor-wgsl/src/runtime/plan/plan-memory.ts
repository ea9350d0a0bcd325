/**
 * @file `PlanMemory`: what loaded plans have on the device besides their tensors: constants, scratch memory, and places
 * for small results.
 *
 * Plans of one template share it: they run one after the other, so what is scratch memory for one is for all.
 */
import type { ExecutionPlan } from '@tessera/inductor-core';
import { hostBytes } from '../memory/host-bytes.js';
import { OutputMemory } from './output-memory.js';
import type { WgpuMemory } from '../memory/wgpu-memory.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** See the file header. */
export class PlanMemory {
  readonly constants: readonly WgpuMemory[];
  private readonly scratch: WgpuMemory[] = [];
  private changes = 0;
  private freed = false;
  private readonly outputs: OutputMemory[] = [];

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

  /** Whether nothing can run with it any more. */
  get isFreed(): boolean {
    return this.freed;
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

  /** Where output number `index` of a plan is put. */
  output(index: number): OutputMemory {
    return (this.outputs[index] ??= new OutputMemory(this.runtime.pool));
  }

  /** Frees everything. */
  dispose(): void {
    this.freed = true;
    for (const memory of [...this.scratch, ...this.constants]) this.runtime.free(memory);
    for (const home of this.outputs) home.close();
  }
}
