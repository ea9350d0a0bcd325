/**
 * @file `WgpuRuntime`: the `DeviceRuntime` of device 'wgpu'.
 *
 * Owns the memory pool, the command stream and what is cached between plans. Everything enqueues; only
 * `download` and `synchronize` wait. Errors that WebGPU reports late are thrown by the next call here.
 */
import type { DeviceMemory, DeviceRuntime, DType } from '@tessera/tensor';
import { DEVICE_DTYPES, deviceItemSize } from '../../codegen/values/wgsl-types.js';
import { BufferPool, type PoolStatistics } from '../memory/buffer-pool.js';
import { CheckReport } from './check-report.js';
import { CommandStream } from './command-stream.js';
import { toDevice, toHost } from '../memory/element-codec.js';
import type { GpuContext } from './gpu-context.js';
import { copyHalves } from '../memory/half-copy.js';
import { PipelineCache } from './pipeline-cache.js';
import { notHere } from './not-here.js';
import { Readback } from '../memory/readback.js';
import { UniformRing } from '../plan/uniform-ring.js';
import { WgpuMemory } from '../memory/wgpu-memory.js';

/** See the file header. */
export class WgpuRuntime implements DeviceRuntime {
  readonly type = 'wgpu';
  readonly stream: CommandStream;
  readonly uniforms: UniformRing;
  readonly pipelines: PipelineCache;
  readonly report: CheckReport;
  readonly pool: BufferPool;
  private readonly readback: Readback;

  constructor(
    readonly context: GpuContext,
    options: { readonly memoryBudget: number },
  ) {
    this.stream = new CommandStream(context);
    this.uniforms = new UniformRing(context, this.stream);
    this.pipelines = new PipelineCache(context, this.uniforms.layout);
    this.pool = new BufferPool(
      context,
      (buffer) => this.stream.discard(buffer),
      options.memoryBudget,
    );
    this.report = new CheckReport(context, this.stream);
    this.readback = new Readback(context, this.stream, this.report);
  }

  get memoryStatistics(): PoolStatistics {
    return this.pool.statistics;
  }

  itemSize(dtype: DType): number {
    return DEVICE_DTYPES.has(dtype) ? deviceItemSize(dtype, this.context.target.f16) : 0;
  }

  allocate(bytes: number): WgpuMemory {
    this.context.check();
    return this.pool.allocate(bytes);
  }

  free(memory: DeviceMemory): void {
    // Memory of a runtime that was replaced goes back to its own pool.
    if (memory instanceof WgpuMemory) memory.pool.release(memory);
  }

  upload(memory: DeviceMemory, offset: number, dtype: DType, host: Uint8Array): void {
    this.context.check();
    const target = this.own(memory);
    const data = toDevice(dtype, host, this.context.target.f16);
    const byte = offset * this.itemSize(dtype);
    if (data.byteLength === 0) return;
    if (byte % 4 === 0 && data.byteLength % 4 === 0) {
      this.stream.write(target, byte, data);
      return;
    }
    const padded = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
    padded.set(data);
    const staged = this.pool.allocate(padded.byteLength);
    this.stream.write(staged, 0, padded);
    this.copy(staged, 0, target, byte, data.byteLength);
    this.pool.release(staged);
  }

  async download(
    memory: DeviceMemory,
    offset: number,
    dtype: DType,
    count: number,
  ): Promise<Uint8Array> {
    this.context.check();
    if (count === 0) return new Uint8Array(0);
    const size = this.itemSize(dtype);
    const first = offset * size;
    const start = first - (first % 4);
    const end = Math.ceil((first + count * size) / 4) * 4;
    const words = await this.readback.read(this.own(memory), start, end - start);
    const bytes = words.subarray(first - start, first - start + count * size);
    return toHost(dtype, bytes, this.context.target.f16);
  }

  copy(
    src: DeviceMemory,
    srcByte: number,
    dst: DeviceMemory,
    dstByte: number,
    bytes: number,
  ): void {
    this.context.check();
    if (bytes === 0) return;
    const source = this.own(src);
    const target = this.own(dst);
    if (source.buffer === target.buffer) {
      // WebGPU cannot copy within one buffer.
      const between = this.pool.allocate(bytes + 4);
      this.copy(source, srcByte, between, srcByte % 4, bytes);
      this.copy(between, srcByte % 4, target, dstByte, bytes);
      this.pool.release(between);
      return;
    }
    if (srcByte % 4 === 0 && dstByte % 4 === 0 && bytes % 4 === 0) {
      const alone = source.isUnproven || target.isUnproven;
      if (alone) this.stream.flush();
      this.stream.copy(
        source.buffer,
        source.start + srcByte,
        target.buffer,
        target.start + dstByte,
        bytes,
      );
      this.stream.touch(source);
      this.stream.touch(target);
      if (alone) this.stream.flush();
      return;
    }
    copyHalves(
      this,
      { memory: source, offset: srcByte / 2 },
      { memory: target, offset: dstByte / 2 },
      bytes / 2,
    );
  }

  async synchronize(): Promise<void> {
    this.stream.flush();
    const { epoch } = this.stream;
    await this.context.device.queue.onSubmittedWorkDone();
    this.stream.finished(epoch);
    await this.context.settle();
  }

  /** The memory as made by this runtime. @throws use-after-dispose, device-lost, out-of-memory */
  own(memory: DeviceMemory): WgpuMemory {
    if (memory instanceof WgpuMemory && !memory.freed && memory.pool === this.pool) {
      if (memory.failure !== null) throw memory.failure;
      return memory;
    }
    throw notHere(memory, this.pool);
  }

  dispose(): void {
    this.readback.dispose();
    this.report.dispose();
    this.uniforms.dispose();
    this.pool.trim(0);
    this.context.dispose();
  }
}
