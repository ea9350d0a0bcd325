/**
 * @file Capturing `backward()`.
 *
 * The engine runs on the twins, which tells exactly which leaves receive a gradient and what it looks
 * like; the graph gets one `tessera::autograd_grad` node, and each leaf's `.grad` a lazy tensor. A leaf
 * that has a gradient already gets an in-place addition, as in eager.
 */
import { type Argument, type Node, getItem } from '@tessera/graph';
import {
  type BackwardCall,
  type OpOverload,
  type Tensor,
  getOp,
  gradFnOf,
  gradientOf,
  gradientStrides,
  hasGradientHooks,
  noGrad,
  obeysLayout,
  requiresGrad,
  runBackward,
  setOwnGradient,
  withFakeTensors,
  withPreDispatchMode,
} from '@tessera/tensor';
import { BACKWARD_OUTSIDE, HOOKED_LEAF } from '../breaks/graph-breaks.js';
import { type Pattern, instantiate } from '../trace/pattern.js';
import type { BackwardStep, OutSpec } from '../trace/step.js';
import type { Capture } from './capture.js';
import { runBackwardEagerly } from './eager-backward.js';
import { runOnTwins } from './run-on-twins.js';

/** Leaves of the current segment that may receive a gradient; null if some history lies outside it. */
function candidateLeaves(capture: Capture): number[] | null {
  const leaves: number[] = [];
  for (const slot of capture.builder.inputSlots) {
    const tensor = capture.run.slots[slot]!;
    if (!requiresGrad(tensor)) continue;
    if (gradFnOf(tensor) !== null) return null;
    leaves.push(slot);
  }
  return leaves;
}

const autogradGrad: OpOverload = getOp('tessera::autograd_grad');
const autogradGradTwice: OpOverload = getOp('tessera::autograd_grad.create_graph');

/** Whether an op is `grad()` inside a captured program. */
export function isGradOp(op: unknown): boolean {
  return op === autogradGrad || op === autogradGradTwice;
}

/**
 * Whether a recorded `grad()` may miss a way to what is wanted: one that leads through history outside the
 * segment, which has these inputs.
 */
export function leavesSegment(inputs: readonly Tensor[], wanted: readonly Tensor[]): boolean {
  const outside = wanted.filter((tensor) => !tensor.isLazy);
  if (outside.length === 0) return false;
  return inputs.some((tensor) => {
    const isOnlyOne = outside.length === 1 && outside[0] === tensor;
    return !isOnlyOne && requiresGrad(tensor) && gradFnOf(tensor) !== null;
  });
}

function isCapturable(capture: Capture, call: BackwardCall): boolean {
  if (call.createGraph) return false;
  // Only leaves take gradients from a recorded backward.
  if (call.inputs?.some((tensor) => tensor.isLazy || gradFnOf(tensor) !== null)) return false;
  for (const tensor of call.tensors) {
    if (tensor.traceOwner !== capture.run.id || !tensor.isLazy || !tensor.requiresGradFlag)
      return false;
  }
  return true;
}

/**
 * Records a backward; with `adopted`, rebuilds a recorded one. One that cannot be captured ends the graph
 * and is run by the engine. Returns true: it is done.
 */
export function captureBackward(
  capture: Capture,
  call: BackwardCall | null,
  adopted: BackwardStep | null,
): boolean {
  const { run } = capture;
  const tensors =
    call?.tensors ?? (adopted!.roots.map((pattern) => instantiate(pattern, run)) as Tensor[]);
  const gradTensors =
    call?.gradTensors ??
    (adopted!.gradTensors.map((pattern) => instantiate(pattern, run)) as (Tensor | null)[]);
  const inputs =
    call === null
      ? ((adopted!.inputs?.map((pattern) => instantiate(pattern, run)) as Tensor[] | undefined) ??
        null)
      : call.inputs;
  const retainGraph = call?.retainGraph ?? adopted!.retainGraph;
  const leaves = call === null || isCapturable(capture, call) ? candidateLeaves(capture) : null;
  const hooked =
    call !== null && leaves?.some((slot) => hasGradientHooks(run.slots[slot]!)) === true;
  if (leaves === null || hooked) {
    run.noteReads([tensors, gradTensors]);
    capture.onWatch(inputs ?? []);
    capture.breakGraph(hooked ? HOOKED_LEAF : BACKWARD_OUTSIDE);
    if (call !== null) runBackwardEagerly(call);
    return true;
  }
  const roots = tensors.map((tensor) => capture.patternOf(tensor));
  const grads = gradTensors.map((tensor): Pattern =>
    tensor === null ? { code: 2, value: null } : capture.patternOf(tensor),
  );
  const wanted =
    inputs === null ? leaves : leaves.filter((slot) => inputs.includes(run.slots[slot]!));
  const twinGrads = backwardOnTwins(
    capture,
    roots.map((p) => p.slot),
    grads,
    wanted,
    retainGraph,
  );
  const used = wanted.filter((_, i) => twinGrads[i] !== null);
  const node = backwardNode(
    capture,
    roots.map((p) => p.slot),
    grads,
    used,
    retainGraph,
  );
  const step: BackwardStep = adopted ?? {
    kind: 'backward',
    roots,
    gradTensors: grads,
    inputs: inputs === null ? null : inputs.map((tensor) => capture.patternOf(tensor)),
    retainGraph,
    leaves: [],
    next: { steps: [] },
    exit: { steps: [] },
  };
  capture.shadow.pass('backward');
  if (adopted === null) capture.push(step);
  else capture.follow(step);
  const twinsOfUsed = twinGrads.filter((grad): grad is Tensor => grad !== null);
  const leafTwins = used.map((slot) => capture.builder.twin(slot));
  const owned = ownGradients(capture, twinsOfUsed, leafTwins, node);
  const specs = used.map((slot, i) => assignGradient(capture, step, adopted, slot, i, owned[i]!));
  capture.lastOuts = specs;
  if (adopted === null) capture.run.remember(step, specs);
  step.exit = capture.branch;
  capture.run.announce(step);
  return true;
}

function backwardOnTwins(
  capture: Capture,
  roots: readonly number[],
  grads: readonly Pattern[],
  leaves: readonly number[],
  retainGraph: boolean,
): (Tensor | null)[] {
  const { builder } = capture;
  const twinGrads = grads.map((pattern) =>
    pattern.code === 0 || pattern.code === 1 ? builder.twin(pattern.slot) : null,
  );
  return withPreDispatchMode(null, () =>
    withFakeTensors(() =>
      runBackward(
        roots.map((slot) => builder.twin(slot)),
        twinGrads,
        {
          // A second backward is the error that it is in eager.
          retainGraph,
          createGraph: false,
          inputs: leaves.map((slot) => builder.twin(slot)),
          accumulate: false,
          allowUnused: true,
        },
      ),
    ),
  );
}

function backwardNode(
  capture: Capture,
  roots: readonly number[],
  grads: readonly Pattern[],
  leaves: readonly number[],
  retainGraph: boolean,
): Node {
  const { builder } = capture;
  const node = builder.graph.callFunction(autogradGrad, [
    roots.map((slot) => builder.node(slot)),
    grads.map((pattern) =>
      pattern.code === 0 || pattern.code === 1 ? builder.node(pattern.slot) : null,
    ),
    leaves.map((slot) => builder.node(slot)),
    retainGraph,
  ]);
  builder.opCount++;
  return node;
}

/** A gradient's node and twin; one that shares memory or is laid out unlike its leaf is copied, as eager does. */
function ownGradients(
  capture: Capture,
  twins: readonly Tensor[],
  leaves: readonly Tensor[],
  node: Node,
): { node: Node; twin: Tensor }[] {
  const { graph } = capture.builder;
  const seen = new Set<unknown>();
  node.meta.val = twins;
  return twins.map((twin, i) => {
    const item = graph.callFunction(getItem, [node, i]);
    item.meta = { val: twin };
    const shared =
      twin.base !== null ||
      seen.has(twin.storage) ||
      twin.strides.some((stride, d) => stride === 0 && twin.sizes[d]! > 1) ||
      capture.builder.slotOfTwin(twin) !== undefined;
    seen.add(twin.storage);
    const leaf = leaves[i]!;
    if (!obeysLayout(twin, leaf)) {
      const strides = [...gradientStrides(leaf)];
      const layout = [[...leaf.sizes], strides, leaf.dtype, null, leaf.device, null];
      const empty = emit(capture, 'aten::new_empty_strided', [{ node: item, twin }, ...layout]);
      return emit(capture, 'aten::copy_', [empty, { node: item, twin }, false]);
    }
    return shared
      ? emit(capture, 'aten::clone', [{ node: item, twin }, null])
      : { node: item, twin };
  });
}

/** A value of the graph and its twin. */
interface Emitted {
  readonly node: Node;
  readonly twin: Tensor;
}

/** Adds an op that records no history; its first arguments may be values. */
function emit(capture: Capture, name: string, args: readonly (Emitted | Argument)[]): Emitted {
  const op = getOp(name);
  const isEmitted = (arg: Emitted | Argument): arg is Emitted =>
    typeof arg === 'object' && arg !== null && 'twin' in arg;
  const node = capture.builder.graph.callFunction(
    op,
    args.map((arg) => (isEmitted(arg) ? arg.node : arg)),
  );
  const twins = args.map((arg) => (isEmitted(arg) ? arg.twin : arg));
  const twin = withoutHistory(() => runOnTwins(op, twins) as Tensor);
  node.meta = { val: twin };
  return { node, twin };
}

function withoutHistory<R>(fn: () => R): R {
  return withPreDispatchMode(null, () => noGrad(fn));
}

function assignGradient(
  capture: Capture,
  step: BackwardStep,
  adopted: BackwardStep | null,
  leafSlot: number,
  index: number,
  value: { node: Node; twin: Tensor },
): OutSpec {
  const { run } = capture;
  const leaf = run.slots[leafSlot]!;
  const recorded = adopted?.leaves[index];
  const existing =
    recorded === undefined
      ? gradientOf(leaf)
      : recorded.existing === null
        ? null
        : run.slots[recorded.existing.slot]!;
  const spec = capture.outSpec(value.twin, -1, recorded?.grad?.slot ?? -1);
  const tensor = capture.bindOut(spec, value.twin, value.node);
  if (existing === null) {
    // A replay has set, and the program perhaps replaced, the gradients of adopted steps.
    if (adopted === null) setOwnGradient(leaf, tensor);
    if (adopted === null) step.leaves.push({ leaf: leafSlot, grad: spec, existing: null });
    return spec;
  }
  const pattern = capture.patternOf(existing);
  if (adopted === null) step.leaves.push({ leaf: leafSlot, grad: spec, existing: pattern });
  accumulate(capture, existing, tensor);
  return spec;
}

/** `existing += tensor` in the graph; the backward step stands for it in replays. */
function accumulate(capture: Capture, existing: Tensor, tensor: Tensor): void {
  const add = getOp('aten::add_.Tensor');
  const { builder } = capture;
  runOnTwins(add, [builder.twin(existing.traceSlot), builder.twin(tensor.traceSlot), 1]);
  const node = builder.graph.callFunction(add, [
    builder.node(existing.traceSlot),
    builder.node(tensor.traceSlot),
    1,
  ]);
  builder.noteMutated(existing.traceSlot, node);
}
