/**
 * @file `CommandStream`: the one order in which everything happens on the device.
 *
 * Dispatches and copies are recorded into one command encoder and submitted together: after a number of
 * commands, at the end of the JavaScript task, or when somebody waits. Submitting costs several times what
 * a dispatch does, so eager operations share submissions, and a plan's launches share one compute pass. Who waits for
 * every result (a token) waits for a device that has nothing to do, which begins with the first few commands.
 */
import { counters } from '@tessera/shared';
import type { GpuContext } from './gpu-context.js';
import type { WgpuMemory } from '../memory/wgpu-memory.js';

/** Commands after which the GPU is given work even if more is coming: soon where it has none, then less and less often. */
const SUBMIT_AFTER = { idle: 16, busy: 128 };

/** One dispatch, but for its uniforms. */
export interface Dispatch {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
}

/** See the file header. */
export class CommandStream {
  /** Number of the submission being recorded. */
  epoch = 1;
  private encoder: GPUCommandEncoder | null = null;
  private pass: GPUComputePassEncoder | null = null;
  /** What the pass has set. */
  private pipeline: GPUComputePipeline | null = null;
  private group: GPUBindGroup | null = null;
  private uniformsAt = -1;
  private commands = 0;
  /** Commands after which this submission is full. */
  private room = SUBMIT_AFTER.idle;
  private scheduled = false;
  private doomed: GPUBuffer[] = [];
  private readonly beforeSubmit: (() => void)[] = [];
  private readonly flushLater = (): void => {
    this.scheduled = false;
    this.flush();
  };

  constructor(private readonly context: GpuContext) {}

  /** Registers what must happen before recorded commands run (uploading their uniforms). */
  onSubmit(hook: () => void): void {
    this.beforeSubmit.push(hook);
  }

  /** Submits if enough is recorded. To be called before uniforms are reserved for the next command. */
  makeRoom(): void {
    if (this.commands >= this.room) this.flush();
  }

  /**
   * Records a dispatch.
   *
   * @param x workgroups in x
   * @param y workgroups in y
   * @param offsets dynamic offsets of its bind group, or null if it has none
   * @param uniforms where its uniforms are: the group and the offset in it; offset -1 if it has none
   */
  dispatch(
    { pipeline, group }: Dispatch,
    x: number,
    y: number,
    offsets: number[] | null,
    uniforms: GPUBindGroup,
    uniformsAt: number,
  ): void {
    const encoder = this.recorder();
    const pass = (this.pass ??= encoder.beginComputePass());
    if (this.pipeline !== pipeline) {
      pass.setPipeline(pipeline);
      this.pipeline = pipeline;
    }
    if (offsets !== null) pass.setBindGroup(0, group, offsets);
    else if (this.group !== group) pass.setBindGroup(0, group);
    this.group = offsets === null ? group : null;
    if (uniformsAt >= 0 && this.uniformsAt !== uniformsAt) {
      pass.setBindGroup(1, uniforms, [uniformsAt]);
      this.uniformsAt = uniformsAt;
    }
    pass.dispatchWorkgroups(x, y);
  }

  /** Records a copy of whole 4-byte words between two buffers. */
  copy(src: GPUBuffer, srcByte: number, dst: GPUBuffer, dstByte: number, bytes: number): void {
    this.makeRoom();
    const encoder = this.recorder();
    this.endPass();
    counters.inc('wgpu', 'copies');
    encoder.copyBufferToBuffer(src, srcByte, dst, dstByte, bytes);
  }

  /** Records filling a buffer with zeros. */
  clear(buffer: GPUBuffer): void {
    this.makeRoom();
    const encoder = this.recorder();
    this.endPass();
    encoder.clearBuffer(buffer);
  }

  /** Writes bytes from the host, in order with everything recorded. */
  write(memory: WgpuMemory, byte: number, data: ArrayBufferView<ArrayBuffer>): void {
    if (memory.lastUse === this.epoch) this.flush();
    this.context.device.queue.writeBuffer(memory.buffer, memory.start + byte, data);
  }

  /** Marks memory as used by what is being recorded. */
  touch(memory: WgpuMemory): void {
    memory.lastUse = this.epoch;
  }

  /** Destroys a buffer once everything recorded so far has been submitted. */
  discard(buffer: GPUBuffer): void {
    if (this.encoder === null) buffer.destroy();
    else this.doomed.push(buffer);
  }

  /** Everything before submission `epoch` is done: if there was none since, the device has no work. */
  finished(epoch: number): void {
    if (epoch === this.epoch) this.room = SUBMIT_AFTER.idle;
  }

  /** Submits what is recorded. */
  flush(): void {
    const { encoder } = this;
    if (encoder === null) return;
    this.endPass();
    this.encoder = null;
    this.commands = 0;
    for (const hook of this.beforeSubmit) hook();
    counters.inc('wgpu', 'submits');
    this.context.device.queue.submit([encoder.finish()]);
    this.epoch++;
    this.room = Math.min(2 * this.room, SUBMIT_AFTER.busy);
    for (const buffer of this.doomed) buffer.destroy();
    this.doomed = [];
  }

  private recorder(): GPUCommandEncoder {
    this.commands++;
    if (this.encoder === null) {
      this.encoder = this.context.device.createCommandEncoder();
      if (!this.scheduled) {
        this.scheduled = true;
        queueMicrotask(this.flushLater);
      }
    }
    return this.encoder;
  }

  private endPass(): void {
    if (this.pass === null) return;
    this.pass.end();
    this.pass = null;
    this.pipeline = null;
    this.group = null;
    this.uniformsAt = -1;
  }
}
