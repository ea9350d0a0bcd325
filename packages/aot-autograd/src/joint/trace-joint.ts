/**
 * @file `traceJoint`: a program traced with autograd into one graph of primitive ops.
 *
 * The program runs on FakeTensors with grad mode as it is; composites decompose and vjps are recorded. If
 * results still require grad afterwards, tangents are added as inputs and the backward pass is recorded
 * behind the forward pass: the joint graph. Its outputs are [values, updated inputs, gradients]. Views
 * and in-place ops are still in it (see functionalize/).
 */
import {
  type DecompositionTable,
  type GraphModule,
  type Node,
  ProxyMode,
  TraceRecorder,
  eliminateDeadCode,
} from '@tessera/graph';
import { type Steps, TesseraError, atOnce, inScope, isTesseraError } from '@tessera/shared';
import {
  type GradNode,
  type Storage,
  type Tensor,
  isTensor,
  onesLike,
  setGradEnabled,
  withDispatchMode,
} from '@tessera/tensor';
import {
  contiguousStrides,
  fakeFromMeta,
  gradFnOf,
  gradMode,
  nodesBehind,
  requiresGrad,
  runBackward,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import { isDense } from '../layout.js';
import { type EagerHistory, eagerHistories, isUsedUp, leadsToSome } from './eager-history.js';
import { type OutputPlan, planOutputs } from './output-plan.js';
import {
  type ExampleInput,
  type InputInfo,
  type PrimalTensor,
  type Primals,
  hasNewLayout,
  makePrimals,
} from './primals.js';
import { asRefusal } from './refusals.js';

/** What to trace. */
export interface JointRequest {
  /** Runs the program on its inputs and returns its results, or the steps that do. */
  readonly run: (inputs: readonly unknown[]) => readonly unknown[] | Steps<readonly unknown[]>;
  readonly examples: readonly ExampleInput[];
  readonly infos: readonly InputInfo[];
  readonly gradEnabled: boolean;
  readonly decompositions?: DecompositionTable;
}

/** How a value of the graph takes part in autograd at run time. */
export type ValueGrad =
  | { readonly kind: 'none' }
  /** It has a gradient: tangent number `index`. */
  | { readonly kind: 'tangent'; readonly index: number }
  /**
   * It requires grad, but its graph, which led to the inputs at these positions, cannot run any more: the program modified
   * what it had saved, as this text says, or, without one, used it up by a `backward()`.
   */
  | {
      readonly kind: 'consumed';
      readonly positions: readonly number[];
      readonly modified: string | null;
    }
  /** It requires grad, but of leaves only that the program made and nobody else has. */
  | { readonly kind: 'unseen' };

/** An input whose update is differentiable, so the caller's tensor gets new history. */
export interface DifferentiableUpdate {
  readonly position: number;
  readonly grad: ValueGrad;
}

/** An input to which the program gave another layout. */
export interface LayoutUpdate {
  readonly position: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  /** Elements from where its first element was to where it is now. */
  readonly distance: number;
  /** Whether gradients flow through the change. */
  readonly differentiable: boolean;
}

/** A traced program. */
export interface JointTrace {
  /** Placeholders: primals, tangents. Outputs: values, updates, gradients. */
  readonly module: GraphModule;
  readonly primals: Primals;
  readonly tangents: readonly Node[];
  readonly plans: readonly OutputPlan[];
  readonly valueGrads: readonly ValueGrad[];
  readonly updates: readonly DifferentiableUpdate[];
  readonly layouts: readonly LayoutUpdate[];
  /** Positions of the inputs whose gradient follows, in order of the graph's last outputs. */
  readonly gradPositions: readonly number[];
  /** Per tangent. */
  readonly histories: readonly EagerHistory[];
  /** Memory of the values, then of the updated inputs, in the program as it was called. */
  readonly storages: readonly Storage[];
  /** Grad mode when the program ended. */
  readonly gradEnabledAfter: boolean;
}

/** Traces a program. @throws whatever the program's ops throw; graph-lint */
export function traceJoint(request: JointRequest): JointTrace {
  return atOnce(jointSteps(request));
}

/** `traceJoint` with the pauses of the program. @throws whatever the program's ops throw; graph-lint */
export function jointSteps(request: JointRequest): Steps<JointTrace> {
  const recorder = new TraceRecorder(false);
  const primals = makePrimals(recorder, request.examples, request.infos);
  const mode = new ProxyMode(recorder, request.decompositions ?? new Map());
  const record = <R>(fn: () => R): R =>
    withPreDispatchMode(null, () => withFakeTensors(() => withDispatchMode(mode, fn)));
  // The program may switch grad mode: each step finds it as the one before left it.
  let { gradEnabled } = request;
  const inGradMode = <R>(fn: () => R): R => {
    const outer = gradMode.enabled;
    gradMode.enabled = gradEnabled;
    try {
      return fn();
    } finally {
      gradEnabled = gradMode.enabled;
      gradMode.enabled = outer;
    }
  };
  const steps = new JointTracer(request, recorder, primals).trace();
  return inScope((step) => record(() => inGradMode(step)), steps);
}

/** An input that may receive a gradient. */
type Leaf = PrimalTensor & { readonly entry: NonNullable<PrimalTensor['entry']> };

class JointTracer {
  private readonly tangents: Tensor[] = [];
  private readonly tangentNodes: Node[] = [];
  private readonly roots: Tensor[] = [];
  private readonly leaves: readonly Leaf[];
  /** Where gradients leave the program. */
  private readonly entries: ReadonlySet<GradNode>;

  constructor(
    private readonly request: JointRequest,
    private readonly recorder: TraceRecorder,
    private readonly primals: Primals,
  ) {
    this.leaves = primals.list.filter((p): p is Leaf => p.kind === 'tensor' && p.entry !== null);
    this.entries = new Set(this.leaves.map(({ entry }) => entry));
  }

  *trace(): Steps<JointTrace> {
    const { recorder, primals, request, leaves } = this;
    const run = request.run(primals.byPosition.map((primal) => primal.value));
    const outputs = 'next' in run ? yield* run : run;
    const gradEnabledAfter = this.restoreGradMode();
    const { plans, values } = planOutputs(outputs, primals, recorder);
    const valueGrads = values.map((value) => this.gradOf(value));
    const updates = this.differentiableUpdates();
    const histories = eagerHistories(
      this.roots,
      leaves.map((leaf) => leaf.entry),
    );
    yield;
    const grads = this.backward();
    yield;
    const updated = updates
      .map(({ position }) => primals.byPosition[position].value)
      .filter(isTensor);
    recorder.graph.output(recorder.argument([...values, ...updated, ...grads]));
    eliminateDeadCode(recorder.graph);
    return {
      module: recorder.module,
      primals,
      tangents: this.tangentNodes,
      plans,
      valueGrads,
      updates,
      layouts: layoutUpdates(primals),
      gradPositions: this.roots.length === 0 ? [] : leaves.map((leaf) => leaf.position),
      histories,
      storages: [...values, ...updated].map((value) => value.storage),
      gradEnabledAfter,
    };
  }

  private restoreGradMode(): boolean {
    const { gradEnabled } = this.request;
    // The program may have switched grad mode; what follows is ours.
    const after = gradMode.enabled;
    setGradEnabled(gradEnabled);
    return after;
  }

  private gradOf(value: Tensor): ValueGrad {
    if (!requiresGrad(value)) return { kind: 'none' };
    const isSpent = isUsedUp(value);
    if (!isSpent && !leadsToSome(value, this.entries)) return { kind: 'unseen' };
    const modified = isSpent ? null : this.modifiedBehind(value);
    if (!isSpent && modified === null) return { kind: 'tangent', index: this.addTangent(value) };
    const behind = nodesBehind([value]);
    const reached = this.leaves.filter(({ entry }) => behind.has(entry));
    return { kind: 'consumed', positions: reached.map(({ position }) => position), modified };
  }

  /** The error of a later backward from a value, if it would read what the program has modified since; what is tried here is dead code. */
  private modifiedBehind(value: Tensor): string | null {
    const saved = [...nodesBehind([value])].flatMap((node) => node.savedStorages());
    if (saved.every(({ version }) => version === 0)) return null;
    try {
      this.runBackward([value], [onesLike(value)]);
    } catch (error) {
      if (isTesseraError(error, 'inplace-version')) return error.message.split('\n')[0]!;
    }
    return null;
  }

  private addTangent(root: Tensor): number {
    const { sizes, dtype, device } = root;
    const strides = isDense(sizes, root.strides) ? root.strides : contiguousStrides(sizes);
    const tangent = fakeFromMeta({ sizes, strides, dtype, device });
    this.tangentNodes.push(this.recorder.addInput(tangent, `tangents_${this.tangents.length}`));
    this.roots.push(root);
    return this.tangents.push(tangent) - 1;
  }

  /** Inputs that were modified in a way that gradients flow through. */
  private differentiableUpdates(): DifferentiableUpdate[] {
    const updates: DifferentiableUpdate[] = [];
    for (const primal of this.primals.list) {
      if (primal.kind !== 'tensor' || !requiresGrad(primal.value)) continue;
      if (gradFnOf(primal.value) === primal.entry) continue;
      this.rejectSharedUpdate(primal);
      updates.push({ position: primal.position, grad: this.gradOf(primal.value) });
    }
    return updates;
  }

  private rejectSharedUpdate(primal: PrimalTensor): void {
    const other = this.primals.list.find(
      (item) =>
        item !== primal && item.kind === 'tensor' && item.value.storage === primal.value.storage,
    );
    if (other === undefined) return;
    throw new TesseraError(
      'aot-unsupported',
      `Inputs '${primal.node.name}' and '${other.node.name}' share memory, and one is modified in place in a way that gradients flow through.`,
      {
        context: { inputs: [primal.node.name, other.node.name] },
        hints: ['Pass one of them and make the other from it inside the function, or clone() one.'],
      },
    );
  }

  private backward(): (Tensor | null)[] {
    if (this.roots.length === 0) return [];
    try {
      return this.runBackward(this.roots, this.tangents);
    } catch (error) {
      throw asRefusal(error);
    }
  }

  private runBackward(roots: readonly Tensor[], tangents: readonly Tensor[]): (Tensor | null)[] {
    return runBackward(roots, tangents, {
      retainGraph: true,
      createGraph: false,
      inputs: this.leaves.map((primal) => primal.leaf),
      accumulate: false,
      allowUnused: true,
    });
  }
}

/** Inputs whose sizes, strides or offset are not what they were. */
function layoutUpdates(primals: Primals): LayoutUpdate[] {
  return primals.list.flatMap((primal): LayoutUpdate[] => {
    if (primal.kind !== 'tensor' || !hasNewLayout(primal)) return [];
    const { position, value, layout, entry } = primal;
    const { sizes, strides } = value;
    const distance = value.storageOffset - layout.storageOffset;
    const differentiable = requiresGrad(value) && gradFnOf(value) !== entry;
    return [{ position, sizes, strides, distance, differentiable }];
  });
}
