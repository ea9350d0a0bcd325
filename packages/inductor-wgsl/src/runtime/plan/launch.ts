/**
 * @file `KernelLaunch`: one launch of a plan with what it has bound so far.
 *
 * What a launch needs (pipeline variant, bind group, element offsets) depends only on which memory its
 * parameters lie in, so it is made once per combination and found again by comparing identities. Steady
 * state is a few comparisons and two or three WebGPU calls. Plans of all sizes of a template share their launches: a
 * `SizedLaunch` is what one has at some sizes.
 */
import { counters } from '@tessera/shared';
import { type Launch, checkAt } from '@tessera/inductor-core';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import { variantKey, type KernelVariant } from '../../codegen/variant.js';
import { deviceItemSize } from '../../codegen/values/wgsl-types.js';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import type { CheckReport } from '../device/check-report.js';
import type { Dispatch } from '../device/command-stream.js';
import { boundPart, placeParameters, type BindingMode } from './placement.js';
import type { ScalarBlocks, UniformBlock } from './scalar-blocks.js';
import { SLOT_BYTES } from '../memory/slab.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';
import { ALIGNMENT, type WgpuMemory } from '../memory/wgpu-memory.js';

/** Where the buffers of a plan lie in one run, by plan buffer. */
export interface Residence {
  readonly memory: WgpuMemory[];
  /** Byte of element 0 in its memory. */
  readonly byte: number[];
}

/** Combinations of memory that a launch remembers, so that inputs may take turns. */
const REMEMBERED = 64;

interface Bound {
  /** By parameter: buffer, and the part of the address that matters to the bind group. */
  readonly places: readonly number[];
  readonly parts: readonly number[];
  readonly modes: readonly BindingMode[];
  readonly program: WgslProgram;
  readonly dispatch: Dispatch;
  /** Element offset of each parameter within its binding; of `whole` ones as of the last run. */
  readonly offsets: number[];
  /** Parameters whose element offset may be another in every run. */
  readonly whole: readonly number[];
  /** Parameters with a dynamic offset, in the order of their bindings, and those offsets. */
  readonly dynamic: readonly number[];
  readonly dynamicOffsets: number[] | null;
}

/** Generates a variant of a kernel; the direct one was generated when the plan was loaded. */
export type VariantSource = (variant: KernelVariant, key: string) => WgslProgram;

/** What a launch has of its own at the sizes of a plan. */
export interface SizedLaunch {
  /** Workgroups in x and y; none in x where there is nothing to do. */
  readonly workgroups: readonly [number, number];
  /** How often it is launched in a row. */
  readonly times: number;
  readonly blocks: ScalarBlocks;
  /** The program that ran last, and its uniforms. */
  program?: WgslProgram;
  uniforms?: UniformBlock | null;
}

/** See the file header. */
export class KernelLaunch {
  /** The last used one first. */
  private readonly bound: Bound[] = [];
  private readonly itemSizes: readonly number[];

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly kernel: LaunchedKernel,
    private readonly launch: Launch,
    private readonly source: VariantSource,
    /** Where failed checks are noted. */
    private readonly report: CheckReport = runtime.report,
  ) {
    const { f16 } = runtime.context.target;
    this.itemSizes = kernel.params.map(({ dtype }) => deviceItemSize(dtype, f16));
  }

  /** Records the launch, as often as it is wanted. */
  encode(residence: Residence, scalars: readonly number[], sized: SizedLaunch): void {
    const { workgroups, times, blocks } = sized;
    if (workgroups[0] === 0 || times === 0) return;
    const { stream, uniforms } = this.runtime;
    const bound = this.find(residence) ?? this.bind(residence);
    const { program } = bound;
    if (sized.program !== program) {
      sized.program = program;
      sized.uniforms = this.uniformsOf(program, blocks);
    }
    if (program.checks.length > 0) this.report.open();
    if (bound.whole.length > 0) this.setOffsets(bound, residence);
    const { dynamicOffsets } = bound;
    if (dynamicOffsets !== null) this.setDynamicOffsets(bound, dynamicOffsets, residence);
    const block = sized.uniforms!;
    for (let i = 0; i < times; i++) {
      stream.makeRoom();
      const at = block === null ? -1 : blocks.place(block, scalars, bound.offsets);
      stream.dispatch(bound.dispatch, workgroups, dynamicOffsets, uniforms.group, at);
    }
  }

  private uniformsOf(program: WgslProgram, blocks: ScalarBlocks): UniformBlock | null {
    const checks = program.checks.map((check) => checkAt(check, blocks.valueOf));
    const first = checks.length > 0 ? this.report.firstNumber(checks) : 0;
    return blocks.block(program.uniforms, this.launch.scalars, first);
  }

  private find(residence: Residence): Bound | undefined {
    const { bound } = this;
    for (let i = 0; i < bound.length; i++) {
      const candidate = bound[i];
      if (!this.fits(candidate, residence)) continue;
      if (i > 0) {
        bound.copyWithin(1, 0, i);
        bound[0] = candidate;
      }
      return candidate;
    }
    return undefined;
  }

  private fits({ places, parts, modes }: Bound, { memory, byte }: Residence): boolean {
    const { buffers } = this.launch;
    for (let j = 0; j < buffers.length; j++) {
      const { place, start } = memory[buffers[j]];
      if (place !== places[j]) return false;
      const address = start + byte[buffers[j]];
      const mode = modes[j];
      if (mode === 'fixed' ? address !== parts[j] : boundPart(mode, address) !== parts[j])
        return false;
    }
    return true;
  }

  private setOffsets({ whole, offsets }: Bound, { memory, byte }: Residence): void {
    const { buffers } = this.launch;
    for (const param of whole) {
      const index = buffers[param];
      offsets[param] = (memory[index].start + byte[index]) / this.itemSizes[param];
    }
  }

  private setDynamicOffsets({ dynamic }: Bound, to: number[], { memory, byte }: Residence): void {
    const { buffers } = this.launch;
    for (let i = 0; i < dynamic.length; i++) {
      const index = buffers[dynamic[i]];
      const address = memory[index].start + byte[index];
      to[i] = address - (address % ALIGNMENT);
    }
  }

  private bind({ memory, byte }: Residence): Bound {
    const { launch, runtime, kernel } = this;
    const { device } = runtime.context;
    const memories = launch.buffers.map((index) => memory[index]);
    const addresses = launch.buffers.map((index, i) => memories[i].start + byte[index]);
    const { variant, modes } = placeParameters(
      kernel,
      memories,
      addresses,
      device.limits.maxDynamicStorageBuffersPerPipelineLayout,
    );
    const program = this.source(variant, variantKey(variant));
    const params = [...memories.keys()];
    const dynamic = params.filter((i) => modes[i] === 'dynamic');
    const bindingIsDynamic = program.slots.map((slot) => modes[slot.params[0]] === 'dynamic');
    const compiled = runtime.pipelines.get(
      program,
      kernel.name,
      dynamic.length > 0 ? bindingIsDynamic : null,
    );
    counters.inc('wgpu', 'bind_groups_created');
    const group = device.createBindGroup({
      layout: compiled.layout,
      label: kernel.name,
      entries: program.slots.map((slot, binding) => {
        const param = slot.params[0];
        if (param === undefined) return { binding, resource: { buffer: this.report.buffer } };
        const { buffer } = memories[param];
        const mode = modes[param];
        const address = addresses[param];
        const resource =
          mode === 'dynamic'
            ? { buffer, size: SLOT_BYTES }
            : { buffer, offset: mode === 'fixed' ? address - (address % ALIGNMENT) : 0 };
        return { binding, resource };
      }),
    });
    const bindingOf = (param: number): number =>
      program.slots.findIndex((slot) => slot.params[0] === param);
    const bound: Bound = {
      places: memories.map(({ place }) => place),
      parts: params.map((i) => boundPart(modes[i], addresses[i])),
      modes,
      program,
      dispatch: { pipeline: compiled.pipeline, group },
      offsets: params.map((i) => (addresses[i] % ALIGNMENT) / this.itemSizes[i]),
      whole: params.filter((i) => modes[i] === 'whole'),
      dynamic: dynamic.sort((a, b) => bindingOf(a) - bindingOf(b)),
      dynamicOffsets: dynamic.length > 0 ? [] : null,
    };
    if (this.bound.length >= REMEMBERED) this.bound.pop();
    this.bound.unshift(bound);
    return bound;
  }
}
