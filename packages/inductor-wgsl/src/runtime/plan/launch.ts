/**
 * @file `KernelLaunch`: one launch of a plan with what it has bound so far.
 *
 * What a launch needs (pipeline variant, bind group, element offsets) depends only on which memory its
 * parameters lie in, so it is made once per combination and found again by comparing identities. Steady
 * state is a few comparisons and two or three WebGPU calls. Plans of all sizes of a template share their launches, in
 * which sizes are slots of what its program computed: for a size that was not met before nothing is made.
 */
import type { Launch } from '@tessera/inductor-core';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import { variantKey, type KernelVariant } from '../../codegen/variant.js';
import { deviceItemSize } from '../../codegen/values/wgsl-types.js';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import type { CheckReport } from '../device/check-report.js';
import type { Dispatch } from '../device/command-stream.js';
import { LaunchForm } from './launch-form.js';
import { boundPart, placeParameters, type Placement } from './placement.js';
import type { RunNumbers, ScalarBlocks } from './scalar-blocks.js';
import { SizedChecks } from './sized-checks.js';
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
  readonly form: LaunchForm;
  /** By parameter: buffer, and the part of the address that matters to the bind group. */
  readonly places: readonly number[];
  readonly parts: readonly number[];
  readonly dispatch: Dispatch;
  /** Element offset of each parameter within its binding; of `whole` ones as of the last run. */
  readonly offsets: number[];
  /** Those of parameters with a dynamic offset. */
  readonly dynamicOffsets: number[] | null;
}

/** Generates a variant of a kernel; the direct one was generated when the plan was loaded. */
export type VariantSource = (variant: KernelVariant, key: string) => WgslProgram;

/** How often something is launched, as slots of what a program computed. */
export interface SlottedLaunch {
  /** Workgroups, and the most of them in x. */
  readonly count: number;
  readonly columns: number;
  /** How often it is launched in a row. */
  readonly times: number;
}

/** See the file header. */
export class KernelLaunch {
  /** The last used one first. */
  private readonly bound: Bound[] = [];
  private readonly forms: LaunchForm[] = [];
  private readonly itemSizes: readonly number[];

  constructor(
    private readonly runtime: WgpuRuntime,
    private readonly kernel: LaunchedKernel,
    private readonly launch: Launch,
    private readonly source: VariantSource,
    private readonly slots: SlottedLaunch,
    private readonly blocks: ScalarBlocks,
    /** Where failed checks are noted. */
    private readonly report: CheckReport = runtime.report,
  ) {
    const { f16 } = runtime.context.target;
    this.itemSizes = kernel.params.map(({ dtype }) => deviceItemSize(dtype, f16));
  }

  /** Records the launch, as often as it is wanted. */
  encode(residence: Residence, numbers: RunNumbers): void {
    const { slots, blocks } = this;
    const { computed } = numbers;
    const count = computed[slots.count];
    const times = computed[slots.times];
    if (count === 0 || times === 0) return;
    const x = Math.min(count, slots.columns);
    const y = Math.ceil(count / slots.columns);
    const { stream, uniforms } = this.runtime;
    const bound = this.find(residence) ?? this.bind(residence);
    const { dynamicOffsets } = bound;
    const { checks, whole, uniforms: block } = bound.form;
    if (checks !== null) this.report.open();
    if (whole.length > 0) this.setOffsets(bound, residence);
    if (dynamicOffsets !== null) this.setDynamicOffsets(bound, dynamicOffsets, residence);
    const firstCheck = checks?.firstAt(computed) ?? 0;
    for (let i = 0; i < times; i++) {
      stream.makeRoom();
      const at = block === null ? -1 : blocks.place(block, numbers, bound.offsets, firstCheck);
      stream.dispatch(bound.dispatch, x, y, dynamicOffsets, uniforms.group, at);
    }
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

  private fits({ places, parts, form }: Bound, { memory, byte }: Residence): boolean {
    const { modes } = form.placement;
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

  private setOffsets({ form, offsets }: Bound, { memory, byte }: Residence): void {
    const { buffers } = this.launch;
    for (const param of form.whole) {
      const index = buffers[param];
      offsets[param] = (memory[index].start + byte[index]) / this.itemSizes[param];
    }
  }

  private setDynamicOffsets({ form }: Bound, to: number[], { memory, byte }: Residence): void {
    const { buffers } = this.launch;
    const { dynamic } = form;
    for (let i = 0; i < dynamic.length; i++) {
      const index = buffers[dynamic[i]];
      const address = memory[index].start + byte[index];
      to[i] = address - (address % ALIGNMENT);
    }
  }

  private bind(residence: Residence): Bound {
    const { launch, runtime, kernel, report, itemSizes } = this;
    const { device } = runtime.context;
    const { buffers } = launch;
    const memories: WgpuMemory[] = [];
    const addresses: number[] = [];
    for (let i = 0; i < buffers.length; i++) {
      const memory = residence.memory[buffers[i]];
      memories.push(memory);
      addresses.push(memory.start + residence.byte[buffers[i]]);
    }
    const most = device.limits.maxDynamicStorageBuffersPerPipelineLayout;
    const form = this.formOf(placeParameters(kernel, memories, addresses, most));
    const { modes } = form.placement;
    const places: number[] = [];
    const parts: number[] = [];
    const offsets: number[] = [];
    for (let i = 0; i < buffers.length; i++) {
      places.push(memories[i].place);
      parts.push(boundPart(modes[i], addresses[i]));
      offsets.push((addresses[i] % ALIGNMENT) / itemSizes[i]);
    }
    const group = form.bindGroup(device, kernel.name, buffers, residence, report);
    const dispatch = { pipeline: form.compiled.pipeline, group };
    const dynamicOffsets = form.dynamic.length > 0 ? [] : null;
    const bound = { form, places, parts, dispatch, offsets, dynamicOffsets };
    if (this.bound.length >= REMEMBERED) this.bound.pop();
    this.bound.unshift(bound);
    return bound;
  }

  private formOf(placement: Placement): LaunchForm {
    const { forms, runtime, report, kernel, blocks, launch } = this;
    for (let i = 0; i < forms.length; i++) if (forms[i].fits(placement)) return forms[i];
    const { variant, modes } = placement;
    const program = this.source(variant, variantKey(variant));
    const dynamic = program.slots.map(({ params }) => modes[params[0]] === 'dynamic');
    const compiled = runtime.pipelines.get(
      program,
      kernel.name,
      dynamic.includes(true) ? dynamic : null,
    );
    const uniforms = blocks.block(program.uniforms, launch.scalars);
    const checks = program.checks.length > 0 ? new SizedChecks(program, report, blocks) : null;
    const form = new LaunchForm(placement, program, compiled, uniforms, checks);
    forms.push(form);
    return form;
  }
}
