/**
 * @file `KernelLaunch`: one launch of a plan with what it has bound so far.
 *
 * What a launch needs (pipeline variant, bind group, element offsets) depends only on which memory its
 * parameters lie in, so it is made once per combination and found again by comparing identities. Steady
 * state is a few comparisons and three WebGPU calls.
 */
import { TesseraError } from '@tessera/shared';
import type { FusedKernel, Launch } from '@tessera/inductor-core';
import { LOST_INT64 } from '../codegen/long-integers.js';
import { directVariant, variantKey, type KernelVariant } from '../codegen/variant.js';
import { deviceItemSize } from '../codegen/wgsl-types.js';
import type { WgslProgram } from '../codegen/program.js';
import type { CompiledPipeline } from './pipeline-cache.js';
import type { WgpuRuntime } from './wgpu-runtime.js';
import type { WgpuMemory } from './wgpu-memory.js';

/** Where the buffers of a plan lie in one run, by plan buffer. */
export interface Residence {
  readonly memory: WgpuMemory[];
  /** Byte of element 0. */
  readonly byte: number[];
}

/** Combinations of memory that a launch remembers. */
const REMEMBERED = 8;
const OFFSET_ALIGNMENT = 256;

interface Bound {
  readonly ids: readonly number[];
  readonly bytes: readonly number[];
  readonly compiled: CompiledPipeline;
  readonly group: GPUBindGroup;
  readonly program: WgslProgram;
  /** Element offset of each parameter within its binding. */
  readonly offsets: readonly number[];
}

/** Generates a variant of a kernel; the direct one was generated when the plan was loaded. */
export type VariantSource = (variant: KernelVariant, key: string) => WgslProgram;

/** See the file header. */
export class KernelLaunch {
  private readonly bound: Bound[] = [];
  private readonly writes: boolean;

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly kernel: FusedKernel,
    private readonly launch: Launch,
    private readonly source: VariantSource,
    /** The kernel has no points: there is nothing to do. */
    private readonly isEmpty: boolean,
  ) {
    this.writes = kernel.params.some((param) => param.access !== 'read');
  }

  /** Records the launch. */
  encode(residence: Residence, scalars: readonly number[]): void {
    if (this.isEmpty) return;
    const bound = this.find(residence) ?? this.bind(residence);
    const { program } = bound;
    const { stream, uniforms } = this.runtime;
    stream.makeRoom();
    let slot = 0;
    if (program.uniforms.length > 0) {
      slot = uniforms.reserve(program.uniforms.length);
      this.writeUniforms(bound, slot / 4, scalars);
    }
    const pass = stream.computePass();
    pass.setPipeline(bound.compiled.pipeline);
    pass.setBindGroup(0, bound.group);
    if (program.uniforms.length > 0) pass.setBindGroup(1, uniforms.group, [slot]);
    pass.dispatchWorkgroups(program.workgroups[0], program.workgroups[1]);
  }

  private find({ memory, byte }: Residence): Bound | undefined {
    const { buffers } = this.launch;
    search: for (let i = 0; i < this.bound.length; i++) {
      const candidate = this.bound[i];
      for (let j = 0; j < buffers.length; j++) {
        if (memory[buffers[j]].id !== candidate.ids[j] || byte[buffers[j]] !== candidate.bytes[j])
          continue search;
      }
      return candidate;
    }
    return undefined;
  }

  private bind({ memory, byte }: Residence): Bound {
    const { launch, runtime, kernel } = this;
    const memories = launch.buffers.map((index) => memory[index]);
    const bytes = launch.buffers.map((index) => byte[index]);
    const slots = this.assignSlots(memories);
    const shared = new Set(slots).size < slots.length;
    // A shared binding begins at the buffer's start: its parameters reach different places in it.
    const starts = bytes.map((at) => (shared ? 0 : at - (at % OFFSET_ALIGNMENT)));
    const offsets = bytes.map(
      (at, i) =>
        (at - starts[i]) / deviceItemSize(kernel.params[i].dtype, runtime.context.target.f16),
    );
    const variant: KernelVariant =
      shared || offsets.some((offset) => offset !== 0)
        ? { offsets: true, slots }
        : directVariant(slots.length);
    const program = this.source(variant, variantKey(variant));
    const compiled = runtime.pipelines.get(program, kernel.name);
    const group = runtime.context.device.createBindGroup({
      layout: compiled.layout,
      label: kernel.name,
      entries: program.slots.map((slot, binding) => {
        const param = slot.params[0];
        return { binding, resource: { buffer: memories[param].buffer, offset: starts[param] } };
      }),
    });
    const bound = { ids: memories.map((m) => m.id), bytes, compiled, group, program, offsets };
    if (this.bound.length >= REMEMBERED) this.bound.shift();
    this.bound.push(bound);
    return bound;
  }

  /** One slot per parameter, but one for all that lie in a buffer of which some part is written. */
  private assignSlots(memories: readonly WgpuMemory[]): number[] {
    const { params } = this.kernel;
    const written = new Set(memories.filter((_, i) => params[i].access !== 'read'));
    const slotOf = new Map<WgpuMemory, number>();
    let next = 0;
    return memories.map((memory) => {
      if (!this.writes || !written.has(memory)) return next++;
      let slot = slotOf.get(memory);
      if (slot === undefined) {
        slot = next++;
        slotOf.set(memory, slot);
      }
      return slot;
    });
  }

  private writeUniforms(bound: Bound, word: number, scalars: readonly number[]): void {
    const { integers, floats } = this.runtime.uniforms;
    for (const field of bound.program.uniforms) {
      if (field.kind === 'offset') {
        integers[word++] = bound.offsets[field.param];
        continue;
      }
      const value = scalars[this.launch.scalars[field.index]];
      if (field.type === 'f32') floats[word++] = value;
      // Seeds are unsigned and keep their bits.
      else if (field.type === 'i32' && !(value > LOST_INT64 && value < 2 ** 32)) refuse(value);
      else integers[word++] = field.type === 'u32' ? Number(value !== 0) : value;
    }
  }
}

function refuse(value: number): never {
  throw new TesseraError(
    'invalid-argument',
    `the number ${value} does not fit in the 32 bits that device 'wgpu' stores int64 in.`,
    { hints: ['Use a floating point tensor, or compute on device cpu.'] },
  );
}
