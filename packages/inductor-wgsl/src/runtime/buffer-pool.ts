/**
 * @file `BufferPool`: GPU buffers by size class; freed ones wait here for their next use.
 *
 * In the steady state of a loop nothing is made: what one step frees, the next one takes.
 */
import { TesseraError, counters } from '@tessera/shared';
import { FreeList } from './free-list.js';
import { BufferUsage } from './gpu-flags.js';
import { describeError, type GpuContext } from './gpu-context.js';
import { ALIGNMENT, WgpuMemory } from './wgpu-memory.js';

/** What a pool holds, in bytes. */
export interface PoolStatistics {
  readonly inUse: number;
  readonly pooled: number;
  readonly peak: number;
}

/** So many bytes may wait beyond what was in use at the peak. */
const SPARE_BYTES = 256 * 2 ** 20;

/** Rounds a size up so that few distinct sizes occur: at most an eighth is wasted. */
export function sizeClass(bytes: number): number {
  const least = Math.max(ALIGNMENT, bytes);
  const step = Math.max(ALIGNMENT, 2 ** (Math.floor(Math.log2(least)) - 3));
  return Math.ceil(least / step) * step;
}

/** See the file header. */
export class BufferPool {
  private readonly free = new Map<number, FreeList>();
  private inUse = 0;
  private pooled = 0;
  private peak = 0;
  private readonly largest: number;
  /** Releases so far, by which waiting memory is told older from newer. */
  private releases = 0;

  /** @param discard destroys a buffer once no recorded command needs it */
  constructor(
    private readonly context: GpuContext,
    private readonly discard: (buffer: GPUBuffer) => void,
    private readonly budget: number,
    private readonly spare: number = SPARE_BYTES,
  ) {
    const { limits } = context.device;
    this.largest = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  }

  get statistics(): PoolStatistics {
    return { inUse: this.inUse, pooled: this.pooled, peak: this.peak };
  }

  /** @throws out-of-memory */
  allocate(bytes: number): WgpuMemory {
    const size = Math.min(sizeClass(bytes), Math.max(this.largest, bytes));
    const reused = this.free.get(size)?.pop();
    if (reused !== undefined) {
      this.pooled -= size;
      reused.freed = false;
      this.account(size);
      return reused;
    }
    if (bytes > this.largest) throw this.tooLarge(bytes);
    if (this.inUse + this.pooled + size > this.budget) this.trim(0);
    if (this.inUse + size > this.budget) throw this.overBudget(bytes);
    const memory = new WgpuMemory(this, this.create(size), size);
    this.account(size);
    return memory;
  }

  /** Takes memory that was freed and not handed out since; false if it is not to be had. */
  retake(memory: WgpuMemory): boolean {
    if (!memory.freed || memory.destroyed) return false;
    memory.freed = false;
    this.pooled -= memory.bytes;
    this.account(memory.bytes);
    return true;
  }

  release(memory: WgpuMemory): void {
    if (memory.freed) return;
    memory.freed = true;
    if (memory.slab !== null) {
      memory.slab.release(memory);
      return;
    }
    this.inUse -= memory.bytes;
    memory.freedAt = ++this.releases;
    let list = this.free.get(memory.bytes);
    if (list === undefined) this.free.set(memory.bytes, (list = new FreeList()));
    list.push(memory);
    this.pooled += memory.bytes;
    const keep = this.peak - this.inUse + this.spare;
    // Some more goes than must, so that this is not the work of every release.
    if (this.pooled > keep) this.trim(keep - this.spare / 2);
  }

  /** Destroys waiting buffers, those that waited longest first, until at most `keep` bytes wait. */
  trim(keep: number): void {
    const waiting = [...this.free.values()].flatMap((list) => list.drain());
    waiting.sort((a, b) => a.freedAt - b.freedAt);
    for (const memory of waiting) {
      if (this.pooled <= keep) {
        this.free.get(memory.bytes)!.push(memory);
        continue;
      }
      memory.destroyed = true;
      this.discard(memory.buffer);
      this.pooled -= memory.bytes;
    }
  }

  private account(size: number): void {
    this.inUse += size;
    this.peak = Math.max(this.peak, this.inUse);
  }

  private create(size: number): GPUBuffer {
    const usage = BufferUsage.storage | BufferUsage.copySrc | BufferUsage.copyDst;
    counters.inc('wgpu', 'buffers_created');
    return this.context.watch(
      'out-of-memory',
      () => this.context.device.createBuffer({ size, usage, label: `tessera ${size} bytes` }),
      (error) => describeError(error, `an allocation of ${size} bytes`),
    );
  }

  private tooLarge(bytes: number): TesseraError {
    return new TesseraError(
      'out-of-memory',
      `${bytes} bytes are more than one WebGPU buffer of this adapter may hold (${this.largest}).`,
      {
        context: { bytes, limit: this.largest },
        hints: ['Split the tensor, or keep it on device cpu.'],
      },
    );
  }

  private overBudget(bytes: number): TesseraError {
    return new TesseraError(
      'out-of-memory',
      `The memory budget of device 'wgpu' is exhausted: ${bytes} more bytes were asked for, ${this.inUse} of ${this.budget} are in use.`,
      {
        context: { bytes, inUse: this.inUse, budget: this.budget },
        hints: [
          'Dispose of tensors that are no longer needed (using, tidy, dispose), or raise memoryBudget in initWebGpu.',
        ],
      },
    );
  }
}
