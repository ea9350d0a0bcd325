/**
 * @file `WgslBackend`: the `KernelBackend` of device 'wgpu'.
 */
import {
  argumentCheck,
  AttentionKernels,
  FACTORED_ROWS,
  type TileMemory,
  turnedRows,
  WIDEST_ATTENTION,
} from '@tessera/inductor-core';
import { type Steps, atOnce } from '@tessera/shared';
import { type OpOverload, type Tensor, noGrad } from '@tessera/tensor';
import { withoutModes } from '@tessera/tensor/internal';
import type {
  Capabilities,
  ExecutionPlan,
  FusedKernel,
  KernelBackend,
  KernelSource,
  PlanBuffer,
  PlanTemplate,
} from '@tessera/inductor-core';
import { LONGEST_ROW, MOST_ROWS } from '../codegen/attention-rows/attention-row-shape.js';
import { generateKernel } from '../codegen/generate.js';
import type { LaunchedKernel } from '../codegen/scheduled/joined-kernel.js';
import { rewriteProducts, type SplitPlan } from '../codegen/matrices/rewrite-products.js';
import type { WgslTarget } from '../codegen/target.js';
import type { WgslProgram } from '../codegen/wgsl-program.js';
import type { KernelVariant } from '../codegen/variant.js';
import { DEVICE_DTYPES } from '../codegen/values/wgsl-types.js';
import { type DeviceLaunches, deviceLaunches } from './plan/chain-launches.js';
import { WgslExecutable } from './plan/executable.js';
import { LoadedPlan } from './plan/loaded-plan.js';
import { LoadedTemplate } from './plan/loaded-template.js';
import { tuneUnmeasured } from './matmul-tuner.js';
import { ownOperators } from './own-operators.js';
import { PlanCode, wgslSource } from './plan/plan-code.js';
import { PlanMemory } from './plan/plan-memory.js';
import { PlanRoutes, boundDirectly } from './plan/plan-routes.js';
import type { WgpuRuntime } from './device/wgpu-runtime.js';

/** Outer points of a reduction that fill a device, and reduced elements from which splitting others pays. */
const ENOUGH_POINTS = { gpu: 4096, software: 16 };
const SPLIT_REDUCTION_THRESHOLD = 16384;
/** Gradients of scores that are kept: the memory they take at most, and heads for which computing them again takes longer (ADR 33). */
const KEPT = { bytes: 2 ** 28, narrowest: 64 };

/** What an adapter can do, in the compiler's terms. */
export function wgslCapabilities(target: WgslTarget): Capabilities {
  return {
    dtypes: DEVICE_DTYPES,
    int64: 'i32',
    maxBuffersPerKernel: target.maxStorageBuffers,
    extern: false,
    parallelism: target.software ? ENOUGH_POINTS.software : ENOUGH_POINTS.gpu,
    splitReductionThreshold: SPLIT_REDUCTION_THRESHOLD,
    attention: new AttentionKernels({
      widest: WIDEST_ATTENTION,
      fewRows: { rows: MOST_ROWS, keys: LONGEST_ROW },
      keepsWeights: (count, width) =>
        width >= KEPT.narrowest && 4 * count <= Math.min(KEPT.bytes, target.maxBindingBytes),
    }),
    recurrences: 'registers',
    combines: true,
    ...(target.software ? {} : { factoredRows: FACTORED_ROWS, rewriteLowered: turnedRows }),
  };
}

/** Of a plan sizes are numbers. */
type PlanLaunches = DeviceLaunches<PlanBuffer>;

/** A plan with its products split, as it is launched, and its code. */
interface MadeCode {
  readonly split: SplitPlan;
  readonly layout: Omit<SplitPlan, keyof PlanLaunches> & PlanLaunches;
  readonly code: PlanCode;
}

/** See the file header. */
export class WgslBackend implements KernelBackend {
  readonly name = 'wgsl';
  readonly device = 'wgpu';
  readonly capabilities: Capabilities;
  /** Ends with the last measurement that was asked for. */
  private tuning: Promise<unknown> = Promise.resolve();

  constructor(
    readonly runtime: WgpuRuntime,
    /** Matmul tiles found best on this adapter. */
    readonly tiles: TileMemory = new Map(),
  ) {
    this.capabilities = wgslCapabilities(runtime.context.target);
  }

  /** Facts about the adapter that code is generated for. */
  get target(): WgslTarget {
    return this.runtime.context.target;
  }

  generate(kernel: FusedKernel): KernelSource {
    return wgslSource(kernel.name, generateKernel(kernel, this.target, undefined, this.tiles));
  }

  runOperator(op: OpOverload, args: readonly unknown[], outs: readonly Tensor[]): boolean {
    const run = ownOperators.get(op.qualifiedName);
    if (run === undefined) return false;
    withoutModes(() => noGrad(() => run(this.runtime, op.bind(args) as never, outs)));
    return true;
  }

  runsAlone({ qualifiedName }: OpOverload): boolean {
    return ownOperators.has(qualifiedName);
  }

  /** Loads a plan; on a later device when this one is gone. */
  load(plan: ExecutionPlan): LoadedPlan {
    return atOnce(this.loadingSteps(plan));
  }

  /** Pauses after each kernel's text, and while pipelines are compiled side by side. */
  *loadingSteps(plan: ExecutionPlan): Steps<LoadedPlan> {
    const { name, kernels } = plan;
    const { split, layout } = this.launchesOf(plan);
    const programs: WgslProgram[] = [];
    for (const kernel of layout.kernels) {
      programs.push(this.program(kernel));
      yield;
    }
    const code = this.code(layout.kernels, programs);
    yield () => {
      const bytes = layout.buffers.map(
        ({ dtype, numel }) => Number(numel) * this.runtime.itemSize(dtype),
      );
      const direct = [...boundDirectly(layout, bytes)];
      return this.runtime.pipelines.prepare(
        direct.map((kernel) => ({
          program: programs[kernel],
          kernel: layout.kernels[kernel].name,
        })),
      );
    };
    const here = { split, layout, code };
    return new LoadedPlan(
      { name, kernels, on: (backend) => backend.executable(plan, backend === this ? here : null) },
      this,
    );
  }

  private launchesOf(plan: ExecutionPlan): Omit<MadeCode, 'code'> {
    const split = rewriteProducts(plan, this.target);
    return { split, layout: { ...split, ...deviceLaunches(split, this.target) } };
  }

  private program(kernel: LaunchedKernel, variant?: KernelVariant): WgslProgram {
    return generateKernel(kernel, this.target, variant, this.tiles);
  }

  /** Loads a template: the same code for every choice of sizes, also on later devices. */
  loadTemplate(template: PlanTemplate): LoadedTemplate {
    return new LoadedTemplate(template, this);
  }

  /** Code of kernels, of which those with symbolic sizes take them as uniforms. */
  code(kernels: readonly LaunchedKernel[], made: readonly WgslProgram[] = []): PlanCode {
    return new PlanCode(kernels, (index, variant) =>
      variant === undefined && index < made.length
        ? made[index]
        : this.program(kernels[index], variant),
    );
  }

  /** Loads a plan on this device. */
  executable(plan: ExecutionPlan, made: MadeCode | null = null): WgslExecutable {
    const { split, layout } = made ?? this.launchesOf(plan);
    const code = made?.code ?? this.code(layout.kernels);
    const memory = new PlanMemory(this.runtime, plan.constants);
    return new WgslExecutable(this.runtime, {
      routes: new PlanRoutes(this.runtime, layout, code, memory),
      computed: [],
      plan: () => split,
      memory,
      check: argumentCheck(plan),
      ownsMemory: true,
    });
  }

  /** One measurement at a time: two would disturb each other. */
  tune(plan: ExecutionPlan): Promise<boolean> {
    const split = rewriteProducts(plan, this.target);
    const result = tuneUnmeasured(this.runtime, split, this.tiles, this.tuning);
    this.tuning = result.catch(() => undefined);
    return result;
  }

  /** Resolves when the measurements asked for so far are done. */
  async tuned(): Promise<void> {
    await this.tuning;
  }
}
