/**
 * @file `UniformRing`: runtime scalars and element offsets of launches, written to the device together.
 *
 * Launches take 256-byte slots of a host copy, which one `writeBuffer` uploads before their commands are
 * submitted. Queue order makes the slots free again after every submission.
 */
import { TesseraError } from '@tessera/shared';
import type { CommandStream } from '../device/command-stream.js';
import type { GpuContext } from '../device/gpu-context.js';
import { BufferUsage, STAGE_COMPUTE } from '../device/gpu-flags.js';

const SLOT = 256;
const RING_BYTES = 256 * 1024;
/** Bytes that a binding spans: the most uniforms one kernel may have, times four. */
const BINDING_BYTES = 2048;

/** See the file header. */
export class UniformRing {
  readonly layout: GPUBindGroupLayout;
  readonly group: GPUBindGroup;
  /** Host copy as floats and as integers, in 4-byte words. */
  readonly floats: Float32Array<ArrayBuffer>;
  readonly integers: Int32Array<ArrayBuffer>;
  private readonly buffer: GPUBuffer;
  private used = 0;

  constructor(
    private readonly context: GpuContext,
    private readonly stream: CommandStream,
  ) {
    const { device } = context;
    const host = new ArrayBuffer(RING_BYTES);
    this.floats = new Float32Array(host);
    this.integers = new Int32Array(host);
    this.buffer = device.createBuffer({
      size: RING_BYTES,
      usage: BufferUsage.uniform | BufferUsage.copyDst,
      label: 'tessera uniforms',
    });
    this.layout = device.createBindGroupLayout({
      entries: [
        {
          binding: 0,
          visibility: STAGE_COMPUTE,
          buffer: { type: 'uniform', hasDynamicOffset: true },
        },
      ],
    });
    this.group = device.createBindGroup({
      layout: this.layout,
      entries: [{ binding: 0, resource: { buffer: this.buffer, size: BINDING_BYTES } }],
    });
    stream.onSubmit(() => this.upload());
  }

  /** Takes a slot for `words` 4-byte values; returns its byte offset. May submit what is recorded. */
  reserve(words: number): number {
    const bytes = words * 4;
    if (bytes > BINDING_BYTES) {
      throw new TesseraError(
        'plan-invalid',
        `A kernel has ${words} runtime scalars; at most ${BINDING_BYTES / 4} are supported on wgpu.`,
        {
          context: { words },
          hints: ['Pass them as a tensor.'],
        },
      );
    }
    if (this.used + BINDING_BYTES > RING_BYTES) this.stream.flush();
    const offset = this.used;
    this.used += Math.ceil(bytes / SLOT) * SLOT;
    return offset;
  }

  dispose(): void {
    this.buffer.destroy();
  }

  private upload(): void {
    if (this.used === 0) return;
    this.context.device.queue.writeBuffer(this.buffer, 0, this.integers, 0, this.used / 4);
    this.used = 0;
  }
}
