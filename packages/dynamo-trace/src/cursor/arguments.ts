/**
 * @file Recording the arguments of an op: what a replay must find there, what the graph gets, and what
 * the fake op gets.
 */
import type { Argument } from '@tessera/graph';
import { SymScalar } from '@tessera/shared';
import { type OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import type { Older } from '../dynamic/dynamic-shapes.js';
import { symbolicShapeOf } from '../dynamic/symbolic-meta.js';
import { identifierOf } from '../guards/sources.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import type { IntPattern } from '../trace/int-pattern.js';
import {
  type Pattern,
  type ScalarPattern,
  type TensorPattern,
  sameConstant,
} from '../trace/pattern.js';
import type { OpStep } from '../trace/step.js';
import { type Aligned, type Lift, olderArgument } from './alignment.js';
import type { Recorder } from './recorder.js';

/** A prepared argument: what to match next time, what the graph and the fake op get. */
export interface Prepared {
  readonly pattern: Pattern;
  readonly node: Argument;
  readonly fake: unknown;
}

/** Prepares all arguments of an op; see events/operator.ts. */
export function prepareArguments(
  recorder: Recorder,
  op: OpOverload,
  args: readonly unknown[],
  known: OpStep | null,
  alignment: Aligned | null,
  computed: boolean,
): Prepared[] {
  return args.map((arg, i) => {
    const lift = alignment?.lifts.get(i) ?? null;
    const { type, name } = op.schema.args[i]!;
    // The end of a range is how long it is, though it may be a float.
    const size = type.symbolic || (name === 'end' && op.schema.name === 'arange');
    return prepare(recorder, arg, known?.args[i] ?? null, olderArgument(alignment, i), {
      lift: computed && lift !== null ? 'symbol' : lift,
      // A number that an older trace made a symbol remains one, whatever the schema calls it.
      integer: size || type.base === 'int' || lift === 'symbol' || (computed && lift !== null),
      size,
      name,
    });
  });
}

/** What is known about an argument's place. */
interface Place {
  readonly lift: Lift | null;
  /** An integer here may be a symbol. */
  readonly integer: boolean;
  /** The schema calls it a size. */
  readonly size: boolean;
  readonly name: string;
}

function prepare(
  recorder: Recorder,
  arg: unknown,
  known: Pattern | null,
  older: Older<Pattern> | null,
  place: Place,
): Prepared {
  const { builder } = recorder;
  if (isTensor(arg)) {
    const pattern = tensorPattern(recorder, arg, known, older);
    return { pattern, node: builder.node(pattern.slot), fake: builder.fake(pattern.slot) };
  }
  if (known?.code === 4) return scalar(recorder, known.index, Number(arg), known.kind);
  const given = arg instanceof SymScalar ? arg : null;
  // One that the program made says of itself whether it is a float.
  const kind = given?.kind ?? place.lift;
  if (kind !== null && kind !== 'symbol' && !Array.isArray(arg)) {
    const value = given?.hint ?? Number(arg);
    const index = given === null ? undefined : recorder.region?.scalars.get(given);
    if (index !== undefined) return scalar(recorder, index, value, kind, given!.name);
    if (recorder.region !== null) recorder.region.broken = true;
    return scalar(recorder, recorder.numbering.scalars++, value, kind);
  }
  if (known !== null && known.code !== 3)
    return { pattern: known, node: arg as Argument, fake: arg };
  if (Array.isArray(arg)) return list(recorder, arg, known, older, place);
  if (place.integer && typeof arg === 'number') {
    const { sources } = recorder.options;
    const name = sources.nameOfNumber(arg) ?? place.name;
    const int = recorder.shapes.int(arg, olderInt(older), name, place.size);
    if (typeof int !== 'number') return { pattern: int, node: arg, fake: arg };
  }
  return { pattern: { code: 2, value: arg }, node: arg as Argument, fake: arg };
}

function list(
  recorder: Recorder,
  arg: readonly unknown[],
  known: Pattern | null,
  older: Older<Pattern> | null,
  place: Place,
): Prepared {
  const items = arg.map((item, i) => {
    const before = older === null ? null : olderItem(older, i);
    const same = before?.pattern.code === 2 && sameConstant(before.pattern.value, item);
    const lift = same ? null : place.lift;
    const own = known?.code === 3 ? known.items[i]! : null;
    return prepare(recorder, item, own, before, { ...place, lift });
  });
  const constant = items.every(({ pattern }) => pattern.code === 2);
  return {
    pattern: constant
      ? { code: 2, value: [...arg] }
      : (known ?? { code: 3, items: items.map(({ pattern }) => pattern) }),
    node: items.map(({ node }) => node),
    fake: items.map(({ fake }) => fake),
  };
}

function olderItem(older: Older<Pattern>, i: number): Older<Pattern> | null {
  const { pattern, calls } = older;
  if (pattern.code === 3) return { pattern: pattern.items[i]!, calls };
  if (pattern.code !== 2 || !Array.isArray(pattern.value)) return null;
  return { pattern: { code: 2, value: pattern.value[i] }, calls };
}

function olderInt(older: Older<Pattern> | null): Older<IntPattern> | null {
  if (older === null) return null;
  const { pattern, calls } = older;
  if (pattern.code === 5) return { pattern, calls };
  return pattern.code === 2 && Number.isInteger(pattern.value)
    ? { pattern: pattern.value as number, calls }
    : null;
}

function scalar(
  recorder: Recorder,
  index: number,
  value: number,
  kind: ScalarPattern['kind'],
  name: string = recorder.options.sources.nameOfNumber(value) ?? `scalar ${index}`,
): Prepared {
  recorder.frame.scalars[index] = value;
  const { node, scalar: fake } = recorder.builder.addScalar(
    index,
    value,
    kind === 'fraction' ? 'float' : kind,
    name,
  );
  return { pattern: { code: 4, index, kind, checks: fake.checks }, node, fake };
}

// ---- tensors

/**
 * The pattern of a tensor: which value of the segment it is, or, where the segment meets it for the first time, what it
 * must look like; then it becomes an input.
 */
export function tensorPattern(
  recorder: Recorder,
  tensor: Tensor,
  known: Pattern | null = null,
  older: Older<Pattern> | null = null,
): TensorPattern {
  const pattern = boundPattern(recorder, tensor, known, older);
  if (!recorder.builder.has(pattern.slot)) addInput(recorder, pattern.slot, tensor);
  recorder.region?.uses.add(pattern.slot);
  return pattern;
}

/** The same of a tensor that becomes an input when an operator uses it. */
export function boundPattern(
  recorder: Recorder,
  tensor: Tensor,
  known: Pattern | null = null,
  older: Older<Pattern> | null = null,
): TensorPattern {
  const { frame } = recorder;
  const isBound = frame.slotOf(tensor) >= 0;
  if (!isBound) {
    // Reading the storage computes a value that another compiled call, or an earlier segment, owes.
    void tensor.storage;
    frame.bind(recorder.numbering.slots++, tensor);
  }
  const slot = frame.slotOf(tensor);
  if (known?.code === 0 || known?.code === 1) {
    if (known.code === 1) noteGuard(recorder, slot, known.guard);
    return known;
  }
  if (isBound) return { code: 0, slot };
  const guard = guardOf(recorder, tensor, older);
  noteGuard(recorder, slot, guard);
  return { code: 1, slot, guard, gains: frame.givesGradients(tensor) };
}

function noteGuard({ guards, varying }: Recorder, slot: number, guard: TensorGuard): void {
  guards.set(slot, guard);
  if (guard.isSymbolic) varying.add(slot);
}

function addInput(
  { builder, guards, numbering, options }: Recorder,
  slot: number,
  tensor: Tensor,
): void {
  const source = numbering.sources.get(slot) ?? options.sources.nameOf(tensor);
  numbering.sources.set(slot, source);
  builder.addInput(slot, tensor, identifierOf(source), source);
  const guard = guards.get(slot);
  if (guard !== undefined) builder.node(slot).meta.symbolicVal = symbolicShapeOf(guard);
}

function guardOf(
  { options: { sources }, shapes }: Recorder,
  tensor: Tensor,
  older: Older<Pattern> | null,
): TensorGuard {
  const pattern = older?.pattern;
  const like = pattern?.code === 1 ? pattern.guard : null;
  return shapes.tensorGuard(
    tensor,
    like === null ? null : { pattern: like, calls: older!.calls },
    sources.nameOf(tensor),
    sources.isArgument(tensor),
  );
}
