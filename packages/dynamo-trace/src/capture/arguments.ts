/**
 * @file Recording the arguments of an op: what a replay must find there, what the graph gets, and what
 * the twin op gets.
 */
import type { Argument } from '@tessera/graph';
import { SymScalar } from '@tessera/shared';
import { type OpOverload, isTensor } from '@tessera/tensor';
import type { Older } from '../dynamic/dynamic-shapes.js';
import type { IntPattern } from '../trace/int-pattern.js';
import type { Pattern } from '../trace/pattern.js';
import type { OpStep } from '../trace/step.js';
import type { Capture } from './capture.js';
import { type Alignment, type Lift, olderArgument } from './shadow.js';

/** A prepared argument: what to match next time, what the graph and the twin op get. */
export interface Prepared {
  readonly pattern: Pattern;
  readonly node: Argument;
  readonly twin: unknown;
}

/** Prepares all arguments of an op; see `Capture.recordOp`. */
export function prepareArguments(
  capture: Capture,
  op: OpOverload,
  args: readonly unknown[],
  adopted: OpStep | null,
  alignment: Alignment | null,
  computed: boolean,
): Prepared[] {
  return args.map((arg, i) => {
    const lift = alignment?.lifts.get(i) ?? null;
    const { type } = op.schema.args[i]!;
    return prepare(capture, arg, adopted?.args[i] ?? null, olderArgument(alignment, i), {
      lift: computed && lift !== null ? 'symbol' : lift,
      integer: type.base === 'int' || (computed && lift !== null),
      size: type.symbolic,
      name: op.schema.args[i]!.name,
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
  capture: Capture,
  arg: unknown,
  adopted: Pattern | null,
  older: Older<Pattern> | null,
  place: Place,
): Prepared {
  const { builder } = capture;
  if (isTensor(arg)) {
    const pattern = capture.patternOf(arg, adopted, older);
    return { pattern, node: builder.node(pattern.slot), twin: builder.twin(pattern.slot) };
  }
  if (arg instanceof SymScalar) return regionScalar(capture, arg);
  if (adopted?.code === 4) return scalar(capture, adopted.index, Number(arg), adopted.kind);
  if (place.lift !== null && place.lift !== 'symbol') {
    if (capture.region !== null) capture.region.broken = true;
    return scalar(capture, capture.numbering.scalars++, Number(arg), place.lift);
  }
  if (adopted !== null && adopted.code !== 3)
    return { pattern: adopted, node: arg as Argument, twin: arg };
  if (Array.isArray(arg)) return list(capture, arg, adopted, older, place);
  if (place.integer && typeof arg === 'number') {
    const { sources } = capture.options;
    const name = sources.nameOfNumber(arg) ?? place.name;
    const int = capture.shapes.int(arg, olderInt(older), name, place.size);
    if (typeof int !== 'number') return { pattern: int, node: arg, twin: arg };
  }
  return { pattern: { code: 2, value: arg }, node: arg as Argument, twin: arg };
}

function list(
  capture: Capture,
  arg: readonly unknown[],
  adopted: Pattern | null,
  older: Older<Pattern> | null,
  place: Place,
): Prepared {
  const items = arg.map((item, i) =>
    prepare(
      capture,
      item,
      adopted?.code === 3 ? adopted.items[i]! : null,
      older === null ? null : olderItem(older, i),
      { ...place, lift: null },
    ),
  );
  const constant = items.every(({ pattern }) => pattern.code === 2);
  return {
    pattern: constant
      ? { code: 2, value: [...arg] }
      : (adopted ?? { code: 3, items: items.map(({ pattern }) => pattern) }),
    node: items.map(({ node }) => node),
    twin: items.map(({ twin }) => twin),
  };
}

function olderItem(older: Older<Pattern>, i: number): Older<Pattern> | null {
  const { pattern, calls } = older;
  if (pattern.code === 3) return { pattern: pattern.items[i]!, calls };
  if (pattern.code !== 2 || !Array.isArray(pattern.value)) return null;
  return { pattern: { code: 2, value: (pattern.value as unknown[])[i] }, calls };
}

function olderInt(older: Older<Pattern> | null): Older<IntPattern> | null {
  if (older === null) return null;
  const { pattern, calls } = older;
  if (pattern.code === 5) return { pattern, calls };
  return pattern.code === 2 && typeof pattern.value === 'number'
    ? { pattern: pattern.value, calls }
    : null;
}

/** A number that a trusted region was given, or that the program made. */
function regionScalar(capture: Capture, arg: SymScalar): Prepared {
  const index = capture.region?.scalarIndex(arg) ?? -1;
  // Made by the program: a number that says of itself whether it is a float.
  if (index < 0 && capture.region !== null) capture.region.broken = true;
  if (index < 0) return scalar(capture, capture.numbering.scalars++, arg.hint, arg.kind);
  const { node } = capture.builder.addScalar(index, arg.hint, arg.kind, arg.name);
  return { pattern: { code: 4, index, kind: arg.kind }, node, twin: arg };
}

function scalar(
  capture: Capture,
  index: number,
  value: number,
  kind: 'float' | 'int' | 'bool',
): Prepared {
  capture.run.scalars[index] = value;
  const source = capture.options.sources.nameOfNumber(value) ?? `scalar ${index}`;
  const { node, scalar: twin } = capture.builder.addScalar(index, value, kind, source);
  return { pattern: { code: 4, index, kind }, node, twin };
}
