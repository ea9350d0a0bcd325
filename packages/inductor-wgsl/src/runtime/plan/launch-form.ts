/**
 * @file `LaunchForm`: what bind groups of a launch share whose parameters are placed alike: the pipeline of a variant of
 * the kernel, and which offsets it is given. A bind group for other memory is one call of WebGPU then.
 */
import { counters } from '@tessera/shared';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import type { CheckReport } from '../device/check-report.js';
import type { Residence } from './launch.js';
import type { CompiledPipeline } from '../device/pipeline-cache.js';
import type { Placement } from './placement.js';
import type { UniformBlock } from './scalar-blocks.js';
import type { SizedChecks } from './sized-checks.js';
import { SLOT_BYTES } from '../memory/slab.js';
import { ALIGNMENT } from '../memory/wgpu-memory.js';

/** See the file header. */
export class LaunchForm {
  /** Parameters whose element offset may be another in every run. */
  readonly whole: readonly number[];
  /** Parameters with a dynamic offset, in the order of their bindings. */
  readonly dynamic: readonly number[];
  /** The parameter that says where a binding begins; none for that of failed checks. */
  private readonly parameters: readonly (number | undefined)[];

  constructor(
    readonly placement: Placement,
    { slots }: WgslProgram,
    readonly compiled: CompiledPipeline,
    readonly uniforms: UniformBlock | null,
    readonly checks: SizedChecks | null,
  ) {
    const { modes } = placement;
    this.parameters = slots.map(({ params }) => params[0]);
    this.whole = [...modes.keys()].filter((i) => modes[i] === 'whole');
    this.dynamic = this.parameters.flatMap((i) =>
      i !== undefined && modes[i] === 'dynamic' ? [i] : [],
    );
  }

  /** Whether parameters that are placed like this are bound so. */
  fits({ variant, modes }: Placement): boolean {
    const own = this.placement;
    if (own.variant.offsets !== variant.offsets) return false;
    for (let i = 0; i < modes.length; i++)
      if (own.modes[i] !== modes[i] || own.variant.slots[i] !== variant.slots[i]) return false;
    return true;
  }

  /** A bind group for parameters that lie in some buffers of a plan. A loop: it seldom runs, so nothing inlines it. */
  bindGroup(
    device: GPUDevice,
    label: string,
    buffers: readonly number[],
    { memory, byte }: Residence,
    report: CheckReport,
  ): GPUBindGroup {
    const { parameters, placement, compiled } = this;
    const { modes } = placement;
    counters.inc('wgpu', 'bind_groups_created');
    const entries: GPUBindGroupEntry[] = [];
    for (let binding = 0; binding < parameters.length; binding++) {
      const param = parameters[binding];
      if (param === undefined) {
        entries.push({ binding, resource: { buffer: report.buffer } });
        continue;
      }
      const index = buffers[param];
      const { buffer, start } = memory[index];
      const address = start + byte[index];
      const mode = modes[param];
      const resource =
        mode === 'dynamic'
          ? { buffer, size: SLOT_BYTES }
          : { buffer, offset: mode === 'fixed' ? address - (address % ALIGNMENT) : 0 };
      entries.push({ binding, resource });
    }
    return device.createBindGroup({ layout: compiled.layout, label, entries });
  }
}
