/**
 * @file Reading device memory back: a pool of mappable staging buffers.
 */
import { TesseraError, counters } from '@tessera/shared';
import { sizeClass } from './buffer-pool.js';
import { REPORT_BYTES, type CheckReport } from '../device/check-report.js';
import type { CommandStream } from '../device/command-stream.js';
import type { GpuContext } from '../device/gpu-context.js';
import { BufferUsage, MAP_READ } from '../device/gpu-flags.js';
import type { WgpuMemory } from './wgpu-memory.js';

/** Bytes of unused staging buffers that are kept. */
const KEEP_BYTES = 64 * 2 ** 20;

/** See the file header. */
export class Readback {
  private readonly free = new Map<number, GPUBuffer[]>();
  private pooled = 0;

  constructor(
    private readonly context: GpuContext,
    private readonly stream: CommandStream,
    private readonly report: CheckReport,
  ) {}

  /**
   * Bytes of memory as they are after everything recorded so far. Offset and length in whole words.
   *
   * @throws what a check in a kernel since the last read found
   */
  async read(memory: WgpuMemory, byte: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    const { device } = this.context;
    const size = sizeClass(bytes + REPORT_BYTES);
    const staging = this.take(size);
    if (memory.isUnproven) this.stream.flush();
    this.stream.copy(memory.buffer, memory.start + byte, staging, 0, bytes);
    this.stream.touch(memory);
    const reported = this.report.moveTo(staging, bytes);
    const mapped = reported ? bytes + REPORT_BYTES : bytes;
    this.stream.flush();
    const { epoch } = this.stream;
    try {
      await staging.mapAsync(MAP_READ, 0, mapped);
      this.stream.finished(epoch);
    } catch (cause) {
      staging.destroy();
      // The reason is reported apart, a moment later.
      await device.queue.onSubmittedWorkDone().catch(() => undefined);
      await this.context.settle();
      throw new TesseraError(
        'device-lost',
        'Reading back from the GPU failed: the device was lost or destroyed.',
        {
          hints: ['Call initWebGpu() again and recreate the tensors.'],
          cause,
        },
      );
    }
    const result = new Uint8Array(staging.getMappedRange(0, mapped).slice(0));
    staging.unmap();
    this.give(staging, size);
    await this.context.settle();
    const refused = reported ? this.report.read(result.subarray(bytes)) : null;
    if (refused !== null) throw refused;
    return result.subarray(0, bytes);
  }

  dispose(): void {
    for (const list of this.free.values()) for (const buffer of list) buffer.destroy();
    this.free.clear();
  }

  private take(size: number): GPUBuffer {
    const found = this.free.get(size)?.pop();
    if (found !== undefined) {
      this.pooled -= size;
      return found;
    }
    counters.inc('wgpu', 'buffers_created');
    return this.context.device.createBuffer({
      size,
      usage: BufferUsage.mapRead | BufferUsage.copyDst,
      label: `tessera staging ${size} bytes`,
    });
  }

  private give(buffer: GPUBuffer, size: number): void {
    if (this.pooled + size > KEEP_BYTES) {
      buffer.destroy();
      return;
    }
    const list = this.free.get(size);
    if (list === undefined) this.free.set(size, [buffer]);
    else list.push(buffer);
    this.pooled += size;
  }
}
