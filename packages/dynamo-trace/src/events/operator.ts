/**
 * @file Event: an operator was called.
 *
 * Recording runs it on the fake tensors of its arguments, which gives metadata, aliasing and history by the real
 * rules, and adds it to the graph; the program gets lazy tensors. Matching compares the arguments with the patterns
 * of a step and makes the same lazy tensors.
 */
import { moduleStack, tensorVal } from '@tessera/graph';
import { SymScalar, isTesseraError, userFrame } from '@tessera/shared';
import { type OpOverload, type Tensor, callOp } from '@tessera/tensor';
import {
  autogradGradTwice,
  dispatchBelowPreDispatch,
  gradMode,
  modes,
  outsideGraphOp,
  programLeaf,
  withPreDispatchMode,
} from '@tessera/tensor/internal';
import { BACKWARD_OUTSIDE, type BreakReason, WATCHED } from '../breaks/graph-breaks.js';
import { opBreak } from '../breaks/op-break.js';
import { prepareArguments } from '../cursor/arguments.js';
import type { Cursor } from '../cursor/cursor.js';
import type { Recorder } from '../cursor/recorder.js';
import { runOnFakes } from '../cursor/run-on-fakes.js';
import { ruleOf } from '../dynamic/step-rule.js';
import type { Frame } from '../frame/frame.js';
import { instantiate, integersOf, matchAll, slotsOf, unbindPatterns } from '../trace/pattern.js';
import { type OpStep, type OutSpec, newNode, observeStep } from '../trace/step.js';
import { endsWith } from './break.js';
import { isGradOp, leavesSegment } from './grad-operator.js';
import { ownGradients } from './own-gradients.js';
import { argumentDifference } from './argument-difference.js';
import { type EventKind, MISS } from './event.js';
import { notingRefusal, refuseAgain } from './refusal.js';

/** An operator and its arguments. */
interface OperatorCall {
  readonly op: OpOverload;
  readonly args: readonly unknown[];
  /** See `OpStep`. */
  readonly gives?: OpStep['gives'];
  /** What it says of itself where no step fits. */
  readonly text?: string;
}

/** See the file header. */
export const OPERATOR: EventKind<OperatorCall, unknown> = {
  match(cursor, { op, args }) {
    for (const step of cursor.at.steps)
      if (
        step.kind === 'op' &&
        step.op === op &&
        step.gives === null &&
        step.gradMode === cursor.frame.gradMode &&
        matchesOperator(step, args, cursor.frame)
      )
        return acceptOperator(cursor, step, args);
    refuseAgain(cursor.at, op, args);
    return MISS;
  },

  record(cursor, recorder, call) {
    const { result, step } = notingRefusal(cursor.at, call.op, () =>
      recordOperator(recorder, call),
    );
    cursor.append(step);
    // The numbers themselves, where the program gave run-time scalars.
    const given = step.args.map((pattern) => instantiate(pattern, cursor.frame));
    cursor.specializer.note(step, given, step);
    cursor.frame.announce(step);
    return result;
  },

  run: ({ op, args }) => withPreDispatchMode(null, () => callOp(op, args)),

  describe({ op, args, text }, at) {
    if (text !== undefined) return { text };
    const steps = at.steps.filter((step): step is OpStep => step.kind === 'op');
    const expected = steps.find((step) => step.op === op) ?? steps[0];
    if (expected === undefined)
      return { text: `the call went on with ${op.displayName} where the recorded call did not` };
    if (expected.op !== op)
      return {
        text: `expected ${expected.op.displayName}, got ${op.displayName}${expected.location === null ? '' : ` (recorded at ${expected.location})`}`,
      };
    if (expected.gradMode !== gradMode.enabled)
      return {
        text: `grad mode was switched ${expected.gradMode ? 'off' : 'on'} where the recorded call did not`,
      };
    if (op.qualifiedName === 'tessera::attach_function')
      return {
        text: 'the backward of a custom autograd function, or what its context holds, is not what was recorded',
      };
    return argumentDifference(op, expected.args, args);
  },
};

/** Why the graph must end before an operator, which then runs by itself; null if it can be recorded. */
export function breakBefore(
  cursor: Cursor,
  op: OpOverload,
  args: readonly unknown[],
): BreakReason | null {
  if (isGradOp(op)) {
    const [roots, , wanted] = args as [readonly Tensor[], unknown, readonly Tensor[]];
    if (endsWith(cursor.at, BACKWARD_OUTSIDE) || leavesSegment(cursor.inputsBehind(roots), wanted))
      return BACKWARD_OUTSIDE;
  }
  return opBreak(op, args);
}

/** Runs an operator that no graph can hold; what was recorded before it has run. */
export function runUnrecorded(op: OpOverload, args: readonly unknown[]): unknown {
  return withPreDispatchMode(null, () => dispatchBelowPreDispatch(outsideGraphOp(op), args));
}

/** Whether the arguments of an operator are those of a step; binds them if so. */
export function matchesOperator(step: OpStep, args: readonly unknown[], frame: Frame): boolean {
  const { shapes } = frame;
  if (!matchAll(step.args, args, frame)) return false;
  if (step.gaining.length === 0) return true;
  const { written, families } = step;
  if (written.every((slot, i) => familyOf(written, slot, frame) === families[i])) return true;
  unbindPatterns(step.args, step.args.length, frame);
  if (frame.shapes !== shapes) frame.unbindSymbols(shapes);
  return false;
}

/** The first of the slots that is a view of the same tensor as `slot`. */
function familyOf(slots: readonly number[], slot: number, frame: Frame): number {
  const root = (at: number): Tensor['base'] => frame.slots[at]!.base ?? frame.slots[at]!;
  const wanted = root(slot);
  return slots.find((other) => root(other) === wanted)!;
}

/**
 * Moves behind a matched operator and makes its results.
 *
 * @param run what happens instead of the operator where the sizes are not worth code, so that the rest of the call runs eagerly
 */
export function acceptOperator(
  cursor: Cursor,
  step: OpStep,
  args: readonly unknown[],
  run: ((call: OperatorCall) => unknown) | null = null,
): unknown {
  const { frame, specializer } = cursor;
  if (modes.suspended !== null) frame.announce(step);
  const { outs: recorded, isPlain, gaining } = step;
  if (frame.shapes.parent === null || (step.isStatic && !specializer.rebuilding)) {
    if (!isPlain && gaining.length > 0) frame.noteGradients(gaining);
    cursor.path.push(step);
    cursor.at = step.next;
    const result = isPlain
      ? frame.produce(recorded[0]!)
      : step.isList
        ? recorded.map((spec) => given(frame, spec))
        : given(frame, recorded[0]!);
    if (step.isWatched) cursor.flush(WATCHED);
    return result;
  }
  // Sizes are symbols that reach it: the results are those of the present sizes.
  if (specializer.declines(step, args)) {
    cursor.pass();
    return (run ?? OPERATOR.run)({ op: step.op, args });
  }
  const outs = specializer.produce(step, args);
  cursor.advance(step, step.next);
  const exists = specializer.rebuilding;
  const result = step.isList
    ? outs.map((spec) => given(frame, spec, exists || spec?.same))
    : given(frame, outs[0]!, exists || outs[0]?.same);
  if (step.isWatched) cursor.flush(WATCHED);
  return result;
}

/** A result of a matched operator; one that exists may require grad from now on. */
function given(frame: Frame, spec: OutSpec | null, exists = spec?.same): Tensor | null {
  if (spec === null) return null;
  if (exists !== true) return frame.produce(spec);
  const tensor = frame.slots[spec.slot]!;
  if (tensor.isLazy) tensor.requiresGradFlag = spec.requiresGrad;
  return tensor;
}

/**
 * Records an operator: the result for the program, and the step.
 *
 * @param computed the op computes with its scalars while tracing, so none may be a run-time scalar
 */
function recordOperator(
  recorder: Recorder,
  { op, args, gives = null }: OperatorCall,
  computed = false,
): { readonly result: unknown; readonly step: OpStep } {
  recorder.builder.switchGradMode(recorder.frame.gradMode);
  const alignment = recorder.alignment.align(op, args);
  const prepared = prepareArguments(recorder, op, args, null, alignment, computed);
  try {
    const { result, ...made } = addOperator(recorder, op, prepared, null, gives);
    const { outs, isList, written, gaining } = made;
    const families = gaining.length === 0 ? [] : written;
    const patterns = prepared.map((p) => p.pattern);
    const step: OpStep = {
      kind: 'op',
      op,
      args: patterns,
      rule: ruleOf(op, patterns),
      ...made,
      isPlain: !isGradOp(op) && !isList && gaining.length === 0 && outs[0]?.same === false,
      isStatic: !follows(recorder, prepared, outs),
      gradMode: recorder.frame.gradMode,
      families: families.map((slot) => familyOf(written, slot, recorder.frame)),
      gives,
      calls: [recorder.shapes.call],
      spare: [],
      isWatched: false,
      next: newNode(),
    };
    recorder.alignment.advance();
    if (op === programLeaf) recorder.builder.leaves.at(-1)!.step = step;
    return { result, step };
  } catch (error) {
    const lifted = prepared.flatMap(({ pattern }) => (pattern.code === 4 ? [pattern.index] : []));
    if (lifted.length === 0 || !isTesseraError(error, 'lifted-scalar')) throw error;
    recorder.builder.dropUnusedScalars(lifted);
    // The op computes with this scalar while tracing: a symbol or a constant will do.
    const plain = args.map((arg) => (arg instanceof SymScalar ? arg.hint : arg));
    return recordOperator(recorder, { op, args: plain }, true);
  }
}

/** Records a matched operator again, in the slots that it has and its grad mode, which the caller restores; returns what it makes at the present sizes. */
export function rebuildOperator(
  recorder: Recorder,
  step: OpStep,
  inner: boolean,
): Pick<OpStep, 'outs' | 'gaining'> {
  const { frame } = recorder;
  observeStep(step, recorder.shapes.call, frame);
  gradMode.enabled = step.gradMode;
  recorder.builder.switchGradMode(step.gradMode);
  const args = step.args.map((pattern) => instantiate(pattern, frame));
  const prepared = prepareArguments(recorder, step.op, args, step, null, false);
  const made = addOperator(recorder, step.op, prepared, step, step.gives, inner);
  follows(recorder, prepared, made.outs);
  return made;
}

/** Whether symbols reach an operator: through a number or a tensor that it is given. What it makes may follow them then. */
function follows(
  { varying }: Recorder,
  prepared: ReturnType<typeof prepareArguments>,
  outs: OpStep['outs'],
): boolean {
  const isReached = prepared.some(
    ({ pattern }) =>
      integersOf(pattern).length > 0 || slotsOf(pattern).some((slot) => varying.has(slot)),
  );
  if (isReached) for (const spec of outs) if (spec !== null) varying.add(spec.slot);
  return isReached;
}

/** What adding an operator to the graph gives: what the program gets, and of its step what that says. */
interface Added extends Pick<OpStep, 'outs' | 'isList' | 'written' | 'gaining' | 'location'> {
  readonly result: unknown;
}

/** Runs an operator on fake tensors and adds it to the graph. */
function addOperator(
  recorder: Recorder,
  op: OpOverload,
  prepared: ReturnType<typeof prepareArguments>,
  known: OpStep | null,
  gives: OpStep['gives'],
  inner = false,
): Added {
  const { builder, region } = recorder;
  const slots = prepared.flatMap((p) => slotsOf(p.pattern));
  const versions = slots.map((slot) => builder.fake(slot).storage.version);
  const result = runOnFakes(
    op,
    prepared.map((p) => p.fake),
  );
  // Composite ops may write without saying so in their schema (batch_norm), so the fake tensors tell.
  const writtenArguments = slots.filter(
    (slot, i) => builder.fake(slot).storage.version !== versions[i],
  );
  const written = new Set(
    writtenArguments.flatMap((slot) => [slot, ...builder.inputsSharing(slot)]),
  );
  // An operator that returns nothing has a list of no results.
  const isList = Array.isArray(result) || result === undefined;
  let fakes = (isList ? (result ?? []) : [result]) as (Tensor | null)[];
  const meta = {
    stackTrace:
      known !== null ? (known.location ?? undefined) : region === null ? userFrame() : region.frame,
    nnModuleStack: moduleStack(),
    sourceFn: op.schema.name,
    originalAten: op,
  };
  const isOld = (fake: Tensor | null): boolean =>
    fake === null || builder.slotOfFake(fake) !== undefined;
  const isIdentity = written.size === 0 && !op.isMutable && gives === null && fakes.every(isOld);
  let nodes = isIdentity ? [] : builder.addOp(op, prepared, fakes, isList, meta);
  if (gives !== null) {
    const leaves = prepared[2]!.fake as readonly Tensor[];
    nodes = ownGradients(recorder, nodes, leaves, op === autogradGradTwice);
    fakes = nodes.map((node) => node && tensorVal(node));
  }
  const existing = fakes.map((fake) => (fake === null ? -1 : (builder.slotOfFake(fake) ?? -1)));
  const gaining = isIdentity ? [] : gainingGradients(recorder, fakes, existing);
  const outs = fakes.map((fake, i) =>
    fake === null ? null : recorder.outSpec(fake, existing[i]!, slotFor(recorder, known, i)),
  );
  const tensors = outs.map((spec, i) =>
    spec === null ? null : recorder.bindOut(spec, nodes[i] ?? null, inner),
  );
  for (const slot of writtenArguments) builder.noteMutated(slot);
  if (op === programLeaf)
    builder.leaves.push({ slot: outs[0]!.slot, fake: fakes[0]!, step: known });
  return {
    result: isList ? tensors : tensors[0],
    outs,
    isList,
    written: [...written],
    gaining,
    location: meta.stackTrace ?? null,
  };
}

/** The slot of a result of a step that is recorded again; -1 for a new step. */
function slotFor({ numbering }: Recorder, known: OpStep | null, i: number): number {
  if (known === null) return -1;
  const out = known.outs[i];
  // Where the step gave its operand itself, another result is none of the values that it knows.
  return out?.same === false ? out.slot : (known.spare[i] ??= numbering.slots++);
}

/**
 * Notes and returns the slots of existing values that take gradients from now on: of what a write gives history, and
 * views made without one, which take that of their base once its memory was written to, in whichever grad mode. A
 * tensor that exists is changed only when its segment runs; until then the program is told what the recorded writes
 * make of it.
 */
function gainingGradients(
  { builder, frame }: Recorder,
  fakes: readonly (Tensor | null)[],
  existing: readonly number[],
): number[] {
  const slots = builder
    .slotsWithGradients(fakes.filter((_, i) => existing[i]! >= 0))
    .filter((slot) => !frame.slots[slot]!.requiresGradFlag);
  frame.noteGradients(slots);
  return slots;
}
