/**
 * @file `compileGraph`: a graph → an `ExecutionPlan`. The whole compiler on one screen:
 * lower → fuse → cut into stages → plan memory → build kernels → assemble the plan.
 */
import type { GraphModule } from '@tessera/graph';
import {
  type Size,
  type Steps,
  SizeProgram,
  atOnce,
  freeSymbols,
  log,
  reportPerSize,
  stageOf,
} from '@tessera/shared';
import { type DeviceType, type DType } from '@tessera/tensor';
import type { Capabilities } from './backend/kernel-backend.js';
import { type KernelDraft, KernelBuilder, buildExtern } from './kernels/build-kernel.js';
import type { EmitContext } from './kernels/emit-context.js';
import { attentionBody } from './kernels/attention-body.js';
import { recurrenceBody } from './kernels/recurrence-body.js';
import { type GroupBody, bodyRoots, bodyStores, loadedBuffers } from './kernels/group-body.js';
import { loopBody } from './kernels/loop-body.js';
import { matmulBody } from './kernels/matmul-body.js';
import type { FusedKernel } from './ir/kernel.js';
import { kernelLoops } from './ir/kernel-parts.js';
import { sameKernel } from './ir/same-kernel.js';
import { checkDtypes } from './lower/check-dtypes.js';
import type { ExternNode, IrOutput, LoweredGraph } from './lower/ir-node.js';
import type { GraphSizes } from './lower/graph-sizes.js';
import { type LoweringResult, loweringSteps } from './lower/lower-graph.js';
import { SizesNeeded } from './lower/shape-math.js';
import { RNG_OFFSET, RNG_SEED } from './lower/ops/random.js';
import { type GroupUse, type StoragePlan, storageSteps } from './memory/storage-plan.js';
import type { ExecutionPlan, Launch } from './plan/execution-plan.js';
import { type PlanTemplate, type TemplateOutput, planOf } from './plan/plan-template.js';
import { showPlan } from './plan/observe-plans.js';
import { type Schedule, fusionSteps } from './fuse/fuse.js';
import { type Group, groupName } from './fuse/group.js';

/** For whom to compile. */
export interface CompileTarget {
  readonly device: DeviceType;
  readonly capabilities: Capabilities;
}

/** What to compile for, and under which name. */
export interface CompileOptions {
  readonly backend: CompileTarget;
  readonly name?: string;
}

/** A plan and what the caller must know beyond it. */
export interface CompiledPlan {
  readonly plan: ExecutionPlan;
  /** One entry per entry of the graph's output. */
  readonly outputs: readonly IrOutput[];
  /** Constant tensors to append to the inputs. */
  readonly liftedConstants: LoweredGraph['liftedConstants'];
  /** Names of the graph's nodes that each launch computes. */
  readonly launchNodes: readonly (readonly string[])[];
}

function bodyOf(schedule: Schedule, group: Group): GroupBody | ExternNode {
  switch (group.kind) {
    case 'loop':
      return loopBody(schedule.context, group);
    case 'matmul':
      return matmulBody(schedule.context, group);
    case 'attention':
      return attentionBody(schedule.context, group);
    case 'recurrence':
      return recurrenceBody(schedule.context, group);
    case 'extern':
      return group.extern;
  }
}

function planned(body: GroupBody | ExternNode): GroupUse {
  if (body.kind === 'extern') {
    return {
      body,
      reads: new Set(body.reads.map((buffer) => buffer.name)),
      writes: new Set(body.outs.map((out) => out.name)),
    };
  }
  return {
    body,
    reads: loadedBuffers(bodyRoots(body)),
    writes: new Set(bodyStores(body).map((store) => store.buffer.name)),
  };
}

/** What differs between most kernels, cheap to compute: only kernels that agree in it are compared. */
function fingerprint(kernel: FusedKernel<Size>): string {
  const loops = kernel.kind === 'extern' ? [] : kernelLoops(kernel);
  const sizes = loops.map(({ name, size }) => `${name}:${String(size)}`).join();
  return `${kernel.kind};${kernel.params.map((p) => p.name).join()};${sizes}`;
}

/** Kernels of a plan; equal ones are kept once. */
class KernelList {
  readonly kernels: FusedKernel<Size>[] = [];
  /** Where the kernels are that were added as the same object. */
  private readonly known = new Map<FusedKernel<Size>, number>();
  private readonly similar = new Map<string, number[]>();

  add(built: FusedKernel<Size>, name: string): number {
    let index = this.known.get(built);
    if (index === undefined) this.known.set(built, (index = this.find(built, name)));
    return index;
  }

  private find(built: FusedKernel<Size>, name: string): number {
    const key = fingerprint(built);
    const similar = this.similar.get(key) ?? [];
    const same = similar.find((index) => sameKernel(this.kernels[index]!, built));
    if (same !== undefined) return same;
    const index = this.kernels.push({ ...built, name: `${name}_${this.kernels.length}` }) - 1;
    this.similar.set(key, [...similar, index]);
    return index;
  }
}

function assemble(
  name: string,
  device: DeviceType,
  graph: LoweredGraph,
  built: readonly { readonly kernel: KernelDraft; readonly name: string }[],
  memory: StoragePlan,
  sizes: GraphSizes | null,
): PlanTemplate {
  const slotIndex = new Map(memory.slots.map((slot, i) => [slot.name, i]));
  const scalarIndex = new Map(graph.scalars.map((scalar, i) => [scalar.name, i]));
  const list = new KernelList();
  const launches = built.map(({ kernel, name: kernelName }): Launch => ({
    kernel: list.add(kernel.kernel, kernelName),
    buffers: kernel.storages.map((key) => slotIndex.get(key)!),
    scalars: kernel.kernel.scalars.map((scalar) => scalarIndex.get(scalar.name)!),
  }));
  const outputs = graph.outputs.flatMap((output): TemplateOutput[] =>
    output.kind === 'tensor'
      ? [{ dtype: output.dtype, sizes: output.sizes, strides: output.strides }]
      : [],
  );
  const rng =
    graph.randomCount === 0
      ? {}
      : {
          rng: {
            seed: scalarIndex.get(RNG_SEED)!,
            offset: scalarIndex.get(RNG_OFFSET)!,
            count: graph.randomCount,
          },
        };
  return {
    version: 1,
    name,
    device,
    buffers: memory.slots,
    numInputs: graph.inputs.length,
    outputs,
    scalars: graph.scalars,
    ...rng,
    constants: [],
    kernels: list.kernels,
    launches,
    symbols: sizes?.symbols ?? [],
    program: sizes?.program ?? new SizeProgram([]),
  };
}

/** A template and what the caller must know beyond it. */
export interface CompiledTemplate extends Omit<CompiledPlan, 'plan' | 'outputs'> {
  readonly template: PlanTemplate;
  readonly outputs: readonly IrOutput<Size>[];
}

function* compile(
  module: GraphModule,
  { backend, name = 'graph' }: CompileOptions,
  sizes: GraphSizes | null,
): Steps<CompiledTemplate> {
  const { capabilities, device } = backend;
  const lowered = yield* stageOf('lower', loweringSteps(module, capabilities, name, sizes));
  const { lowering } = lowered;
  const graph = capabilities.rewriteLowered?.(lowered) ?? lowered.graph;
  yield;
  checkDtypes(graph, capabilities.dtypes, device);
  yield;
  const schedule = yield* stageOf('fuse', fusionSteps(lowering, graph));
  const launchNodes = schedule.groups.map(({ nodes }) => [
    ...new Set(nodes.flatMap((node) => node.nodes)),
  ]);
  const built = yield* stageOf('build kernels', buildSteps({ lowering, graph }, schedule));
  const { kernels, memory } = built;
  yield;
  const template = assemble(name, device, graph, kernels, memory, sizes);
  const { outputs, liftedConstants } = graph;
  return { template, outputs, liftedConstants, launchNodes };
}

/** The kernels of a schedule, and where their buffers lie. */
interface Built {
  readonly kernels: readonly { readonly kernel: KernelDraft; readonly name: string }[];
  readonly memory: StoragePlan;
}

function* buildSteps({ lowering, graph }: LoweringResult, schedule: Schedule): Steps<Built> {
  const bodies: (GroupUse & { readonly group: Group })[] = [];
  for (const group of schedule.groups) {
    bodies.push({ group, ...planned(bodyOf(schedule, group)) });
    yield;
  }
  const memory = yield* storageSteps(bodies, schedule.context.buffers);
  const emit: EmitContext = {
    ir: lowering.ir,
    bufferOf: (buffer) => schedule.context.buffers.get(buffer)!,
    storageOf: memory.keyOf,
  };
  const dtypeOf = (scalar: string): DType => graph.scalars.find((s) => s.name === scalar)!.dtype;
  const builder = new KernelBuilder(emit);
  const kernels: Built['kernels'][number][] = [];
  for (const { group, body } of bodies) {
    const kernel = body.kind === 'extern' ? buildExtern(body, emit, dtypeOf) : builder.build(body);
    kernels.push({ kernel, name: groupName(group) });
    yield;
  }
  return { kernels, memory };
}

/** Compiles a functional ATen graph. @throws kernel-missing, dtype-unsupported, plan-invalid */
export function compileToPlan(module: GraphModule, options: CompileOptions): CompiledPlan {
  return atOnce(planSteps(module, options));
}

/** `compileToPlan` with pauses. @throws kernel-missing, dtype-unsupported, plan-invalid */
export function* planSteps(module: GraphModule, options: CompileOptions): Steps<CompiledPlan> {
  const { template, outputs, ...rest } = yield* compile(module, options, null);
  const { backend } = options;
  const plan = planOf(template, backend.capabilities.itemSize);
  showPlan(plan, backend);
  return { plan, outputs: outputs as readonly IrOutput[], ...rest };
}

/**
 * Compiles a functional ATen graph for all sizes that its symbols stand for. What a kernel needs as a number becomes
 * a guard in the symbols' environment.
 *
 * @throws kernel-missing, dtype-unsupported, plan-invalid
 */
export function compileToTemplate(
  module: GraphModule,
  options: CompileOptions,
  sizes: GraphSizes,
): CompiledTemplate {
  return atOnce(templateSteps(module, options, sizes));
}

/** `compileToTemplate` with pauses. @throws kernel-missing, dtype-unsupported, plan-invalid */
export function* templateSteps(
  module: GraphModule,
  options: CompileOptions,
  sizes: GraphSizes,
): Steps<CompiledTemplate> {
  for (;;) {
    try {
      return yield* compile(module, options, sizes);
    } catch (error) {
      if (!(error instanceof SizesNeeded)) throw error;
      const { op, location, message } = error;
      if (op !== null) reportPerSize({ operator: op, location, reason: message });
      log(
        'dynamic',
        () => `${options.name ?? 'graph'}: ${message}${op === null ? '' : ` by ${op}`}.`,
      );
      for (const symbol of freeSymbols(error.size)) sizes.env.guardInt(symbol);
    }
  }
}

/** Compiles a functional ATen graph to a plan. @throws kernel-missing, dtype-unsupported, plan-invalid */
export function compileGraph(module: GraphModule, options: CompileOptions): ExecutionPlan {
  return compileToPlan(module, options).plan;
}
