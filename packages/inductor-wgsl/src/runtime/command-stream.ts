/**
 * @file `CommandStream`: the one order in which everything happens on the device.
 *
 * Dispatches and copies are recorded into one command encoder and submitted together: after a number of
 * commands, at the end of the JavaScript task, or when somebody waits. Submitting costs several times what
 * a dispatch does, so eager operations share submissions, and a plan's launches share one compute pass.
 */
import type { GpuContext } from './gpu-context.js';
import type { WgpuMemory } from './wgpu-memory.js';

/** Commands after which the GPU is given work even if more is coming. */
const SUBMIT_AFTER = 128;

/** See the file header. */
export class CommandStream {
  /** Number of the submission being recorded. */
  epoch = 1;
  private encoder: GPUCommandEncoder | null = null;
  private pass: GPUComputePassEncoder | null = null;
  private commands = 0;
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
    if (this.commands >= SUBMIT_AFTER) this.flush();
  }

  /** The compute pass to record one dispatch into. */
  computePass(): GPUComputePassEncoder {
    const encoder = this.recorder();
    this.pass ??= encoder.beginComputePass();
    return this.pass;
  }

  /** Records a copy of whole 4-byte words between two buffers. */
  copy(src: GPUBuffer, srcByte: number, dst: GPUBuffer, dstByte: number, bytes: number): void {
    this.makeRoom();
    const encoder = this.recorder();
    this.endPass();
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
    this.context.device.queue.writeBuffer(memory.buffer, byte, data);
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

  /** Submits what is recorded. */
  flush(): void {
    const { encoder } = this;
    if (encoder === null) return;
    this.endPass();
    this.encoder = null;
    this.commands = 0;
    for (const hook of this.beforeSubmit) hook();
    this.context.device.queue.submit([encoder.finish()]);
    this.epoch++;
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
    this.pass?.end();
    this.pass = null;
  }
}
