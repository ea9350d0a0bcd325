/**
 * @file What the `backward` of a custom `Function` computes, as text: its ops and constants, with tensors
 * by order of appearance. Two calls with equal texts have interchangeable backward graphs, but for the numbers
 * that stand beside floats: the text has only their places, so that they may vary.
 */
import { SymScalar, isTesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../dtype.js';
import { dispatchBelowPreDispatch } from '../dispatch/dispatcher.js';
import { type PreDispatchMode, withDispatchModes, withPreDispatchMode } from '../dispatch/modes.js';
import type { OpOverload } from '../op/op-overload.js';
import { fakeFromMeta, isTensor, withFakeTensors } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { withAutocastSettings } from '../autocast/autocast-state.js';
import type { FunctionContext } from './function-context.js';
import { type FunctionClass, FunctionNode } from './function-node.js';
import { metaOf } from './grad-node.js';
import { gradMode } from './grad-mode.js';
import { withPackedSaves } from './saved-tensor-hooks.js';

const identities = new WeakMap<object, number>();
let identityCount = 0;

/** Text that is equal for equal primitives and for the same object. */
export function identityOf(value: unknown): string {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function')
    return `${typeof value} ${Object.is(value, -0) ? '-0' : String(value)}`;
  let number = identities.get(value);
  if (number === undefined) identities.set(value, (number = identityCount++));
  return `object ${number}`;
}

/** Thrown for a tensor from outside. */
class ForeignTensor extends Error {}

/** Thrown where derivatives of what a backward does use its numbers: they must be in the text. */
class NeedsNumbers extends Error {}

/** What a backward computes. */
export interface Fingerprint {
  readonly text: string;
  /** The numbers that the text leaves out, in the order of their use. */
  readonly numbers: readonly number[];
  /** Per operator, at which of its arguments they are. */
  readonly places: readonly (readonly number[])[];
}

/** Where arguments of an operator are numbers whose kind makes no difference: it computes floats. */
function numbersBesideFloats(op: OpOverload, args: readonly unknown[]): number[] {
  if (!args.some((arg) => isTensor(arg) && isFloatingPoint(arg.dtype))) return [];
  return args.flatMap((arg, i) => {
    const { base, list } = op.schema.args[i]!.type;
    const isScalar = !list && (base === 'Scalar' || base === 'Tensor');
    return isScalar && typeof arg === 'number' ? [i] : [];
  });
}

/** Writes down the ops of a backward while they run on FakeTensors. */
class Recorder implements PreDispatchMode {
  readonly name = 'backward-fingerprint';
  readonly text: string[] = [];
  readonly given: number[] = [];
  readonly places: number[][] = [];

  constructor(
    /** Whether numbers may be left out of the text. */
    private readonly lifts: boolean,
  ) {}

  private readonly numbers = new Map<Tensor, number>();

  add(tensor: Tensor): void {
    if (!this.numbers.has(tensor)) this.numbers.set(tensor, this.numbers.size);
  }

  print(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((item) => this.print(item)).join()}]`;
    if (value instanceof SymScalar) throw new NeedsNumbers();
    if (!isTensor(value)) return identityOf(value);
    const number = this.numbers.get(value);
    if (number === undefined) throw new ForeignTensor();
    return `%${number}`;
  }

  handle(op: OpOverload, args: readonly unknown[]): unknown {
    const at = this.lifts ? numbersBesideFloats(op, args) : [];
    let result = at.length === 0 ? undefined : this.lifted(op, args, at);
    if (result === undefined) {
      at.length = 0;
      result = withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, args));
    }
    this.places.push(at);
    this.given.push(...at.map((i) => args[i] as number));
    const texts = args.map((arg, i) => (at.includes(i) ? '#' : this.print(arg)));
    this.text.push(`${op.displayName}(${texts.join()})`);
    for (const out of Array.isArray(result) ? result : [result]) if (isTensor(out)) this.add(out);
    return result;
  }

  /** Runs an operator whose numbers are only known at run time; undefined where it computes with them while tracing. */
  private lifted(op: OpOverload, args: readonly unknown[], at: readonly number[]): unknown {
    const values = args.map((arg, i) =>
      at.includes(i) ? new SymScalar(Number(arg), 'float') : arg,
    );
    try {
      return withPreDispatchMode(null, () => dispatchBelowPreDispatch(op, values));
    } catch (error) {
      if (isTesseraError(error, 'lifted-scalar')) return undefined;
      throw error;
    }
  }

  onBackward(): boolean {
    throw new ForeignTensor();
  }

  onGradMode(enabled: boolean): void {
    this.text.push(`grad mode ${enabled}`);
  }

  onRegion<R>(_: object, __: string, inputs: never, fn: (inputs: never) => R): R {
    return fn(inputs);
  }

  onSetGrad(): void {
    throw new ForeignTensor();
  }
}

/**
 * Runs a backward on FakeTensors and writes down what it does; null if that fails, or if it uses tensors
 * that it was not given.
 *
 * @param args per argument of forward, its number among `tensors`, or -1
 * @param contextOf the function's context over fakes of `tensors`
 * @param lifts whether numbers may be left out
 */
export function backwardFingerprint(
  owner: FunctionClass,
  args: readonly number[],
  tensors: readonly Tensor[],
  results: readonly Tensor[],
  contextOf: (fakes: readonly Tensor[]) => FunctionContext,
  lifts = true,
): Fingerprint | null {
  const recorder = new Recorder(lifts);
  const saved = gradMode.enabled;
  gradMode.enabled = false;
  try {
    const run = (): void => {
      const fakes = tensors.map(fakeFromMeta);
      const grads = results.map(fakeFromMeta);
      for (const fake of [...fakes, ...grads]) recorder.add(fake);
      const metas = args.map((i) => (i < 0 ? null : metaOf(tensors[i]!)));
      const node = new FunctionNode(owner, contextOf(fakes), metas, [], results.map(metaOf), -1);
      const gradients = node.apply(grads);
      recorder.text.push(recorder.print(gradients));
    };
    withPreDispatchMode(recorder, () =>
      withDispatchModes([], () =>
        withAutocastSettings(null, () => withPackedSaves(null, () => withFakeTensors(run))),
      ),
    );
    return { text: recorder.text.join('\n'), numbers: recorder.given, places: recorder.places };
  } catch (error) {
    if (lifts && (error instanceof NeedsNumbers || isTesseraError(error, 'lifted-scalar')))
      return backwardFingerprint(owner, args, tensors, results, contextOf, false);
    // What is wrong shows when the backward runs.
    return null;
  } finally {
    gradMode.enabled = saved;
  }
}
