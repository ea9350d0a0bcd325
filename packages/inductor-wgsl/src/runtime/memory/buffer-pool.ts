/**
 * @file `BufferPool`: GPU buffers by size class; freed ones wait here for their next use.
 *
 * In the steady state of a loop nothing is made: what one step frees, the next one takes.
 */
import { type TesseraError, counters } from '@tessera/shared';
import { reclaimNow } from '@tessera/tensor/internal';
import { FreeList } from './free-list.js';
import { BufferUsage } from '../device/gpu-flags.js';
import type { GpuContext } from '../device/gpu-context.js';
import { noMemory, overBudget, tooLarge } from '../device/no-memory.js';
import { ALIGNMENT, WgpuMemory } from './wgpu-memory.js';

/** What a pool holds, in bytes. */
export interface PoolStatistics {
  readonly inUse: number;
  readonly pooled: number;
  readonly peak: number;
}

/** So many bytes may wait beyond what was in use at the peak. */
const SPARE_BYTES = 256 * 2 ** 20;

/** Buffers from this size on may not fit, and are watched until WebGPU says that they do. */
const LARGE_BYTES = 64 * 2 ** 20;

/** Sizes up to which buffers have powers of two, of which drivers cut small ones anyway, or quarters of them. */
const SMALL_BYTES = 64 * 1024;
const MIDDLE_BYTES = 2 ** 20;

/** Rounds a size up so that few distinct sizes occur, and buffers are found again: at most an eighth of a large one is wasted. */
export function sizeClass(bytes: number): number {
  const least = Math.max(ALIGNMENT, bytes);
  const steps = least <= SMALL_BYTES ? 1 : least <= MIDDLE_BYTES ? 4 : 8;
  const step = Math.max(ALIGNMENT, 2 ** Math.floor(Math.log2(least)) / steps);
  return Math.ceil(least / step) * step;
}

/** See the file header. */
export class BufferPool {
  private readonly free = new Map<number, FreeList>();
  /** Bytes handed out. */
  inUse = 0;
  private pooled = 0;
  private peak = 0;
  private readonly largest: number;
  /**
   * Large buffers of which WebGPU has not said yet whether there was memory for them. Commands that use one are
   * submitted by themselves, so that no others are lost with them.
   */
  unproven = 0;
  /** Buffers for which there was no memory, so far. */
  failures = 0;
  /** Releases so far, by which waiting memory is told older from newer. */
  private releases = 0;

  /** @param discard destroys a buffer once no recorded command needs it */
  constructor(
    readonly context: GpuContext,
    private readonly discard: (buffer: GPUBuffer) => void,
    /** Most bytes in use and waiting. */
    public budget: number,
    private readonly spare: number = SPARE_BYTES,
  ) {
    const { limits } = context.device;
    this.largest = Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize);
  }

  get statistics(): PoolStatistics {
    return { inUse: this.inUse, pooled: this.pooled, peak: this.peak };
  }

  /** Bytes of the memory that so many get. */
  sizeOf(bytes: number): number {
    return Math.min(sizeClass(bytes), Math.max(this.largest, bytes));
  }

  /** @throws out-of-memory */
  allocate(bytes: number): WgpuMemory {
    const size = this.sizeOf(bytes);
    const reused = this.free.get(size)?.pop();
    if (reused !== undefined) {
      this.pooled -= size;
      reused.freed = false;
      this.account(size);
      return reused;
    }
    if (bytes > this.largest) throw tooLarge(bytes, this.largest);
    if (this.inUse + this.pooled + size > this.budget) this.makeRoom(bytes, size);
    const memory = this.create(size);
    this.account(size);
    return memory;
  }

  /** Gives back what waits, then what garbage holds. @throws out-of-memory */
  private makeRoom(bytes: number, size: number): void {
    if (this.inUse + size > this.budget) reclaimNow();
    this.trim(0);
    if (this.inUse + size > this.budget) throw overBudget(bytes, this, this.context.holders());
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
    if (memory.failure !== null) {
      memory.destroyed = true;
      this.discard(memory.buffer);
      return;
    }
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

  private create(size: number): WgpuMemory {
    const usage = BufferUsage.storage | BufferUsage.copySrc | BufferUsage.copyDst;
    counters.inc('wgpu', 'buffers_created');
    const { device } = this.context;
    let memory: WgpuMemory | null = null;
    const buffer = this.context.watch(
      'out-of-memory',
      () => device.createBuffer({ size, usage, label: `tessera ${size} bytes` }),
      (error) => this.failed(memory!, error),
      () => {
        if (memory!.isUnproven) this.unproven--;
        memory!.isUnproven = false;
      },
    );
    memory = new WgpuMemory(this, buffer, size);
    if (size >= LARGE_BYTES) {
      memory.isUnproven = true;
      this.unproven++;
    }
    return memory;
  }

  /** The device had no memory for a buffer. What can be had is given back, for the next try. */
  private failed(memory: WgpuMemory, error: GPUError): TesseraError {
    const failure = noMemory(memory, error, this.context.holders());
    memory.failure = failure;
    this.failures++;
    if (memory.freed && !memory.destroyed) this.trim(0);
    reclaimNow();
    this.trim(0);
    return failure;
  }
}
