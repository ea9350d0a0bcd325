/**
 * @file Buckets: the parameters of one step that share all its numbers.
 *
 * The numbers of an update (step size, bias corrections) follow from a group's options and from how often a parameter
 * was updated, or are carried from one update to the next. Parameters of one group with equal step counts, equal carried
 * numbers and the same kinds of state form a bucket, which needs one set of numbers. The tensors that an update reads
 * and the choices that select its ops are those of the buckets. Parameters that were in different ones stay so: where
 * updates leave parameters out (layers that are skipped at random), counts differ and meet again, and every way to share
 * buckets would be another compiled step.
 */
import type { Tensor } from '@tessera/tensor';
import type { CommonOptions, ParamGroup } from './param-group.js';

/** Numbers that one update leaves for the next, by PyTorch's names; empty before the first. */
export type Carried = Readonly<Record<string, number>>;

/** The state of one parameter. */
export interface ParamState {
  /** Number of updates so far. */
  step: number;
  /** Replaced whole, as parameters may share it. */
  carried: Carried;
  /** By PyTorch's names; what is missing is made by the next step. */
  readonly tensors: Record<string, Tensor>;
}

/** Choices that select the ops of an update: `amsgrad`, `maximize`, whether there is weight decay. */
export type Structure = Readonly<Record<string, boolean | string>>;

/** See the file header. What starts with an underscore is not guarded. */
export interface Bucket<O extends CommonOptions> {
  readonly params: readonly Tensor[];
  /** State tensors by name, one per parameter. */
  readonly state: Readonly<Record<string, readonly Tensor[]>>;
  readonly structure: Structure;
  readonly _group: ParamGroup<O>;
  readonly _records: readonly ParamState[];
}

/** The buckets of a step, valid as long as the same parameters have gradients and no choice changed. */
export interface Plan<O extends CommonOptions> {
  readonly buckets: readonly Bucket<O>[];
  /** All parameters with gradients, in group order. */
  readonly _active: readonly Tensor[];
  /** All tensors of the buckets. */
  readonly _tensors: readonly Tensor[];
  /** The choices of each. */
  readonly _choices: readonly Pick<Bucket<O>, 'structure'>[];
  /** Which of the tensors are what. */
  readonly _parts: string;
}

/** The plan of a step with these buckets. */
export function planOf<O extends CommonOptions>(
  buckets: readonly Bucket<O>[],
  active: readonly Tensor[],
): Plan<O> {
  return {
    buckets,
    _active: active,
    _tensors: buckets.flatMap(({ params, state }) => [...params, ...Object.values(state).flat()]),
    _choices: buckets.map(({ structure }) => ({ structure })),
    _parts: buckets.map(({ params, state }) => [params.length, ...Object.keys(state)]).join(';'),
  };
}

/** Whether two structures make the same choices. */
export function sameStructure(a: Structure, b: Structure): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  return true;
}

/** Whether a bucket's parameters have the states that it was made of, still alike: a program may edit them between steps. */
export function holdsStates<O extends CommonOptions>(
  { params, state, _records: records }: Bucket<O>,
  states: ReadonlyMap<Tensor, ParamState>,
): boolean {
  const { step, carried } = records[0]!;
  return records.every(
    (record, i) =>
      states.get(params[i]!) === record &&
      record.step === step &&
      record.carried === carried &&
      Object.keys(state).every((name) => record.tensors[name] === state[name]![i]),
  );
}

/** A number per state that was once split off the first bucket of its kind: states of other numbers share none with it again. */
const apart = new WeakMap<ParamState, number>();
let apartCount = 0;

/** Groups parameters by step count, carried numbers and names of state tensors, in order of first appearance. */
export function makeBuckets<O extends CommonOptions>(
  group: ParamGroup<O>,
  structure: Structure,
  params: readonly Tensor[],
  states: readonly ParamState[],
): Bucket<O>[] {
  const alike = new Map<string, number[]>();
  states.forEach((record, i) => {
    const { step, carried, tensors } = record;
    const key = [
      apart.get(record),
      step,
      ...Object.values(carried),
      ...Object.keys(tensors).sort(),
    ].join();
    const list = alike.get(key);
    if (list === undefined) alike.set(key, [i]);
    else list.push(i);
  });
  const met = new Set<number | undefined>();
  return [...alike.values()].map((indices) => {
    const records = indices.map((i) => states[i]!);
    const before = apart.get(records[0]!);
    if (met.has(before)) {
      apartCount++;
      for (const record of records) apart.set(record, apartCount);
    }
    met.add(before);
    const names = Object.keys(records[0]!.tensors);
    return {
      params: indices.map((i) => params[i]!),
      state: Object.fromEntries(
        names.map((name) => [name, records.map((record) => record.tensors[name]!)]),
      ),
      structure,
      _group: group,
      _records: records,
    };
  });
}
