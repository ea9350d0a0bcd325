/**
 * @file A custom `Function` under a tracer: both directions become part of the graph.
 *
 * `forward` has been recorded as the ops it is made of; `tessera::attach_function` then gives its results
 * the history of the function, wherever the graph is run or traced again, so AOT autograd traces the
 * user's `backward` like any vjp. All that this op needs besides tensors is a `FunctionPlan`: equal calls
 * share one. What `backward` computes is part of the plan: it is run on FakeTensors at every call, so a
 * value that it reads from elsewhere and that has changed makes another plan, and the call is captured anew.
 * Numbers that it computes with beside floats are no part of it but arguments: a factor may vary, or follow sizes.
 */
import { TesseraError, treeFlatten, treeUnflatten } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { defineOp } from '../op/op-overload.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { modes, withPreDispatchMode } from '../dispatch/modes.js';
import { type Fingerprint, backwardFingerprint, identityOf } from './backward-fingerprint.js';
import { NumberMode } from './number-mode.js';
import { FunctionContext } from './function-context.js';
import { withAutocastSettings } from '../autocast/autocast-state.js';
import { type FunctionClass, attachFunction } from './function-node.js';
import { tryTwice } from './kept-tensors.js';
import { SavedTensor } from './saved-tensor.js';

/** A value kept on the context: a tensor by number, or itself. */
type Kept = { readonly tensor: number } | { readonly value: unknown };

/** A call of a custom function without its tensors. */
interface FunctionPlan {
  readonly handle: PlanHandle;
  readonly owner: FunctionClass;
  readonly needs: readonly boolean[];
  /** Per argument, which of the tensors it is; -1 if none. */
  readonly args: readonly number[];
  /** Per saved tensor, its number; -1 for null. */
  readonly saved: readonly number[];
  readonly kept: readonly Kept[];
  readonly rebuild: (leaves: unknown[]) => Record<string, unknown>;
  /** Numbers of the arguments that forward modified, and of the results without gradient. */
  readonly dirty: readonly number[];
  readonly nonDifferentiable: readonly number[];
  readonly materialize: boolean;
  /** See `Fingerprint`. */
  readonly places: readonly (readonly number[])[];
}

/** Calls of one function that differ in more than tensors; beyond that they are not recorded. */
const PLAN_LIMIT = 256;

/** Functions whose backward computes something else on every call, or keeps what it computes. */
const unsteady = new WeakSet<object>();

/** Functions that were tried before. */
const tried = new WeakSet<object>();

/**
 * What a graph holds of a plan. A plan lives as long as its handle: as the graphs that call it, so that
 * functions, and what their contexts hold, go with the last compiled function that used them.
 */
type PlanHandle = () => never;

const plans = new WeakMap<PlanHandle, FunctionPlan>();
const plansOf = new WeakMap<object, Map<string, WeakRef<PlanHandle>>>();
let planCount = 0;

function newHandle(owner: FunctionClass): PlanHandle {
  const text = `${owner.name}#${planCount++}`;
  const handle: PlanHandle = () => {
    throw new TesseraError('invalid-argument', `${text} stands for a custom function in a graph.`, {
      hints: ['Run the graph instead.'],
    });
  };
  return Object.defineProperty(handle, 'toString', { value: () => JSON.stringify(text) });
}

/** The context of a planned call over other tensors. */
function contextOf(
  plan: Omit<FunctionPlan, 'handle' | 'places'>,
  tensors: readonly Tensor[],
): FunctionContext {
  const context = new FunctionContext(plan.needs);
  const leaves = plan.kept.map((leaf) => ('tensor' in leaf ? tensors[leaf.tensor]! : leaf.value));
  Object.assign(context, plan.rebuild(leaves));
  context.toSave = plan.saved.map((i) => (i < 0 ? null : tensors[i]!));
  context.setMaterializeGrads(plan.materialize);
  return context;
}

/** The function of a plan whose backward computes with other numbers. */
function withNumbers({ owner, places }: FunctionPlan, numbers: readonly unknown[]): FunctionClass {
  if (numbers.length === 0) return owner;
  return {
    name: owner.name,
    forward: (context, ...args) => owner.forward(context, ...args),
    backward: (context, ...grads) =>
      withPreDispatchMode(new NumberMode(places, numbers, modes.pre), () =>
        owner.backward(context, ...grads),
      ),
  };
}

const attach = defineOp(
  'tessera::attach_function(Tensor[] tensors, Tensor(a!)[] outs, Handle handle, Scalar[] numbers) -> Tensor(a!)[]',
  {
    decompose: ({ tensors, outs, handle, numbers }) => {
      const plan = plans.get(handle as PlanHandle)!;
      const results = outs as Tensor[];
      const context = contextOf(plan, tensors);
      for (const i of plan.dirty) context.markDirty(tensors[i]!);
      for (const i of plan.nonDifferentiable) context.markNonDifferentiable(results[i]!);
      const args = plan.args.map((i) => (i < 0 ? null : tensors[i]!));
      attachFunction(withNumbers(plan, numbers as readonly unknown[]), context, args, results);
      return results;
    },
  },
);

/** What belongs to the context itself. */
const OWN_KEYS: ReadonlySet<string> = new Set(Object.keys(new FunctionContext([])));

/** What a context holds under names. */
function heldBy(context: FunctionContext, names: readonly string[]): unknown[] {
  if (names.length === 0) return [];
  const held = names.map((name) => context[name]);
  return treeFlatten(held, (value) => value instanceof Map).leaves;
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => Object.is(item, b[i]));
}

/**
 * Records that `outs` are results of a custom function whose forward was just recorded. Returns false if
 * its backward cannot be recorded: it reads values, or uses tensors that the context does not hold.
 */
export function recordFunction(
  owner: FunctionClass,
  context: FunctionContext,
  args: readonly unknown[],
  outs: readonly unknown[],
): boolean {
  const tensors: Tensor[] = [];
  const numberOf = (tensor: Tensor): number => {
    const known = tensors.indexOf(tensor);
    return known >= 0 ? known : tensors.push(tensor) - 1;
  };
  const properties = Object.fromEntries(
    Object.entries(context).filter(([name]) => !OWN_KEYS.has(name)),
  );
  const { leaves, spec } = treeFlatten(properties, (value) => value instanceof Map);
  const results = outs.filter(isTensor);
  const plan: Omit<FunctionPlan, 'handle' | 'places'> = {
    owner,
    needs: context.needsInputGrad,
    args: args.map((arg) => (isTensor(arg) ? numberOf(arg) : -1)),
    saved: context.toSave.map((tensor) => (tensor === null ? -1 : numberOf(tensor))),
    kept: leaves.map((leaf) => (isTensor(leaf) ? { tensor: numberOf(leaf) } : { value: leaf })),
    rebuild: (values) => treeUnflatten(values, spec),
    dirty: [...context.dirty].map(numberOf),
    nonDifferentiable: results.flatMap((out, i) => (context.nonDifferentiable.has(out) ? [i] : [])),
    materialize: context.materialize,
  };
  let found: Fingerprint | null = null;
  const fingerprint = (): string | null => {
    let holdsOthers = (): boolean => false;
    found = backwardFingerprint(owner, plan.args, tensors, results, (fakes) => {
      const fake = contextOf(plan, fakes);
      fake.saved = fake.toSave.map((tensor) => (tensor === null ? null : new SavedTensor(tensor)));
      const held = (): unknown[] => heldBy(fake, Object.keys(properties));
      const before = held();
      holdsOthers = () => !sameItems(before, held());
      return fake;
    });
    // The context has copies of the program's arrays.
    return holdsOthers() || found === null ? null : `${found.text} ${found.numbers.join()}`;
  };
  // What it computes may change although nothing else did (a counter, a random choice), or be kept.
  const steadyFingerprint = (): string | null => {
    if (unsteady.has(owner)) return null;
    const { result, isSteady } = tryTwice(fingerprint, owner);
    if (!isSteady) unsteady.add(owner);
    return isSteady ? result : null;
  };
  const isNew = !tried.has(owner);
  tried.add(owner);
  const backward = isNew ? steadyFingerprint() : unsteady.has(owner) ? null : fingerprint();
  if (backward === null) return false;
  const { text, numbers, places } = found!;
  const known = internPlan(
    { ...plan, places },
    `${JSON.stringify(spec)} ${text}`,
    () => isNew || steadyFingerprint() === backward,
  );
  if (known === null) return false;
  withAutocastSettings(null, () => callOp(attach, [tensors, results, known.handle, numbers]));
  return true;
}

/** The plan equal to this one; null if the function has too many, or a new one is not steady. */
function internPlan(
  plan: Omit<FunctionPlan, 'handle'>,
  text: string,
  isSteady: () => boolean,
): FunctionPlan | null {
  const { owner, needs, args, saved, kept, dirty, nonDifferentiable, materialize } = plan;
  const constants = kept.map((leaf) =>
    'tensor' in leaf
      ? `t${leaf.tensor}`
      : // What a number does is in the text.
        typeof leaf.value === 'number'
        ? ''
        : identityOf(leaf.value),
  );
  const key = JSON.stringify([
    needs,
    args,
    saved,
    constants,
    dirty,
    nonDifferentiable,
    materialize,
  ]);
  let own = plansOf.get(owner);
  if (own === undefined) plansOf.set(owner, (own = new Map()));
  const handle = own.get(key + text)?.deref();
  if (handle !== undefined) return plans.get(handle)!;
  if (own.size >= PLAN_LIMIT) {
    for (const [name, ref] of own) if (ref.deref() === undefined) own.delete(name);
    if (own.size >= PLAN_LIMIT) return null;
  }
  if (!isSteady()) return null;
  const made = { ...plan, handle: newHandle(owner) };
  own.set(key + text, new WeakRef(made.handle));
  plans.set(made.handle, made);
  return made;
}
