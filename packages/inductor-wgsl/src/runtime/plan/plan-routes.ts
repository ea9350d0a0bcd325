/**
 * @file `PlanRoutes`: what of a loaded plan no size changes: whose memory its buffers have, and its launches with what they
 * have bound so far.
 *
 * Executables of one template share it, so a size that was not met before finds most bind groups made.
 */
import type {
  ExecutionPlan,
  PlanBuffer,
  RepeatedLaunch,
  TemplateBuffer,
} from '@tessera/inductor-core';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import { sizeClass } from '../memory/buffer-pool.js';
import { KernelLaunch } from './launch.js';
import type { PlanCode } from './plan-code.js';
import { SLOT_BYTES } from '../memory/slab.js';
import { scratchPieces } from './scratch-plan.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** A plan, or a template of plans, as far as memory and launches are concerned. */
export interface RoutedPlan extends Pick<ExecutionPlan, 'name' | 'device'> {
  readonly buffers: readonly (
    Pick<PlanBuffer, 'dtype' | 'source'> | Pick<TemplateBuffer, 'dtype' | 'source'>
  )[];
  readonly kernels: readonly LaunchedKernel[];
  readonly launches: readonly RepeatedLaunch[];
  /** See `Executable`. */
  readonly launchOrigins?: readonly number[];
}

/** A buffer of a plan and which argument or constant it is. */
type Route = readonly [buffer: number, index: number];

/** See the file header. */
export class PlanRoutes {
  readonly inputs: Route[] = [];
  readonly outputs: Route[] = [];
  readonly constants: Route[] = [];
  readonly launches: readonly KernelLaunch[];
  readonly itemSizes: readonly number[];
  /** See `scratchPieces`. */
  readonly pieces: readonly number[];
  /** Kernels whose pipelines are to be compiled when the plan is loaded. */
  private direct: Iterable<number>;

  /** @param numels elements of each buffer where it is loaded first */
  constructor(
    private readonly runtime: WgpuRuntime,
    readonly plan: RoutedPlan,
    readonly code: PlanCode,
    numels: readonly number[],
  ) {
    this.itemSizes = plan.buffers.map(({ dtype }) => runtime.itemSize(dtype));
    const bytes = this.bytesOf(numels);
    this.pieces = scratchPieces(plan, bytes);
    this.direct = boundDirectly(plan, bytes);
    for (const [buffer, { source }] of plan.buffers.entries()) {
      if (source.kind === 'constant') this.constants.push([buffer, source.index]);
      else if (source.kind === 'input') this.inputs.push([buffer, source.index]);
      else if (source.kind === 'output') this.outputs.push([buffer, source.index]);
    }
    this.launches = plan.launches.map(
      (launch) =>
        new KernelLaunch(
          runtime,
          plan.kernels[launch.kernel],
          launch,
          code.variants[launch.kernel],
        ),
    );
  }

  /** Bytes of memory that buffers of so many elements take. */
  bytesOf(numels: readonly number[]): number[] {
    return numels.map((numel, buffer) => sizeClass(numel * this.itemSizes[buffer]));
  }

  /** Compiles the pipelines of kernels that have something to do, once. */
  compile(isWanted: (kernel: number) => boolean): void {
    const { code, plan, runtime } = this;
    for (const kernel of this.direct)
      if (isWanted(kernel)) runtime.pipelines.get(code.programs[kernel], plan.kernels[kernel].name);
    this.direct = [];
  }
}

/**
 * Kernels of a plan that bind whole buffers. What those with small outputs bind is known when they run.
 *
 * @param bytes size of each buffer
 */
export function boundDirectly(
  { buffers, launches }: Pick<RoutedPlan, 'buffers' | 'launches'>,
  bytes: readonly number[],
): ReadonlySet<number> {
  const isSmallOutput = (buffer: number): boolean =>
    buffers[buffer].source.kind === 'output' && bytes[buffer] <= SLOT_BYTES;
  const direct = launches.filter((launch) => !launch.buffers.some(isSmallOutput));
  return new Set(direct.map(({ kernel }) => kernel));
}
