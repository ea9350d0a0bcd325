/**
 * @file Mean and sum of squared deviations in one pass.
 *
 * Each lane keeps count, mean and M2 (Welford's recurrence); lanes and groups are merged with Chan's
 * formula, and so are, now and then, the float32 moments of the last few elements with those in float64 of all
 * before them. Rows that fit the cache take two passes instead (see `passes.ts`): less arithmetic and less error.
 *
 * @see Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979
 */
import { activeIn } from '../body/places.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs, VectorBuilder } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import {
  expand,
  laneMasks,
  splatFirst,
  swapLanes,
  type Reducer,
  type ReducerContext,
  type ReduceStmt,
  type Step,
} from './reducer.js';
import { assign, stateRegs } from './state-registers.js';

interface Moments {
  readonly count: Regs;
  readonly mean: Regs;
  readonly m2: Regs;
}

type FloatKind = 'f32' | 'f64';

/** `welford`. */
export class WelfordReducer implements Reducer {
  readonly #kind: FloatKind;
  readonly #count: Local<'v128'>[];
  readonly #mean: Local<'v128'>[];
  readonly #m2: Local<'v128'>[];
  /** Count, mean and M2 of what has settled. */
  readonly #wide: readonly [Local<'v128'>[], Local<'v128'>[], Local<'v128'>[]] | undefined;

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
  ) {
    const { vb, groups, combine, settles } = context;
    this.#kind = kindOf(statement.dtype) === 'f64' ? 'f64' : 'f32';
    const count = groups * registersPerGroup(this.#kind);
    // Equal in all registers while whole vectors are taken in; only the last iteration may differ.
    this.#count = stateRegs(vb, combine ? count : 1, 'count');
    this.#mean = stateRegs(vb, count, 'mean');
    this.#m2 = stateRegs(vb, count, 'm2');
    if (settles && this.#kind === 'f32')
      this.#wide = [
        stateRegs(vb, 2 * this.#count.length, 'wide_count'),
        stateRegs(vb, 2 * count, 'wide_mean'),
        stateRegs(vb, 2 * count, 'wide_m2'),
      ];
  }

  start(): void {
    this.#clear();
    for (const state of this.#wide ?? []) assign(this.context.vb, state, this.context.vb.i32(0));
  }

  #clear(): void {
    for (const state of [this.#count, this.#mean, this.#m2])
      assign(this.context.vb, state, this.context.vb.i32(0));
  }

  update(value: Value, { lanes }: Step): void {
    const { vb, combine, ragged } = this.context;
    const shape = this.#kind === 'f32' ? 'f32x4' : 'f64x2';
    vb.hint = 'welford';
    const x = expand(convert(vb, value, this.#kind), lanes.groups);
    const perGroup = registersPerGroup(this.#kind);
    const masks = x.map((_, i) =>
      combine
        ? laneMasks(vb, this.#kind, activeIn(lanes, Math.floor(i / perGroup)))[i % perGroup]
        : undefined,
    );
    const one = this.#kind === 'f32' ? vb.f32(1) : vb.f64(1);
    const kept = (regs: Regs): Regs =>
      regs.map((reg, i) =>
        masks[i] === undefined ? reg : (vb.bin('v128.and', [reg], masks[i] as Regs)[0] as Reg),
      );
    // Then all registers have met the same number of elements, and one division serves them.
    const isWhole = !(combine && ragged) && masks.every((mask) => mask === undefined);
    const before: Regs = isWhole ? [this.#count[0] as Reg] : this.#count.slice(0, x.length);
    const count = isWhole
      ? vb.bin(`${shape}.add`, before, one)
      : vb.bin(`${shape}.add`, before, kept(x.map(() => one[0] as Reg)));
    const inverse = vb.bin(`${shape}.div`, one, count);
    const mean = this.#mean.slice(0, x.length);
    const delta = vb.bin(`${shape}.sub`, x, mean);
    const newMean = vb.bin(`${shape}.add`, mean, kept(vb.bin(`${shape}.mul`, delta, inverse)));
    const m2 = vb.bin(
      `${shape}.add`,
      this.#m2.slice(0, x.length),
      kept(vb.bin(`${shape}.mul`, delta, vb.bin(`${shape}.sub`, x, newMean))),
    );
    assign(vb, isWhole ? this.#count : this.#count.slice(0, x.length), count);
    assign(vb, this.#mean.slice(0, x.length), newMean);
    assign(vb, this.#m2.slice(0, x.length), m2);
  }

  settle(): void {
    if (this.#wide === undefined) return;
    const { vb } = this.context;
    vb.hint = 'welford';
    const [count, mean, m2] = this.#wide;
    const widen = (regs: Regs): Regs =>
      convert(vb, { kind: 'f32', uniform: false, regs }, 'f64').regs;
    const recent = { count: widen(this.#count), mean: widen(this.#mean), m2: widen(this.#m2) };
    const merged = mergeMoments(vb, 'f64', { count, mean, m2 }, recent);
    assign(vb, count, merged.count);
    assign(vb, mean, merged.mean);
    assign(vb, m2, merged.m2);
    this.#clear();
  }

  finish(): readonly Value[] {
    const { vb, combine } = this.context;
    this.settle();
    vb.hint = 'welford';
    const kind = this.#wide === undefined ? this.#kind : 'f64';
    const [counts, means, squares] = this.#wide ?? [this.#count, this.#mean, this.#m2];
    const to = kindOf(this.statement.dtype);
    if (!combine)
      return [means, squares].map((regs) => convert(vb, { kind, uniform: false, regs }, to));
    const at = (i: number): Moments => ({
      count: [counts[i] as Reg],
      mean: [means[i] as Reg],
      m2: [squares[i] as Reg],
    });
    let all = at(0);
    for (let i = 1; i < means.length; i++) all = mergeMoments(vb, kind, all, at(i));
    const swapped = (distance: 1 | 2): Moments => ({
      count: swapLanes(vb, all.count, distance),
      mean: swapLanes(vb, all.mean, distance),
      m2: swapLanes(vb, all.m2, distance),
    });
    all = mergeMoments(vb, kind, all, swapped(2));
    if (kind === 'f32') all = mergeMoments(vb, kind, all, swapped(1));
    return [all.mean, all.m2].map((regs) =>
      convert(vb, { kind, uniform: true, regs: splatFirst(vb, kind, regs) }, to),
    );
  }
}

/** Moments of the elements of both sides. */
function mergeMoments(vb: VectorBuilder, kind: FloatKind, a: Moments, b: Moments): Moments {
  const shape = kind === 'f32' ? 'f32x4' : 'f64x2';
  const bin = (name: 'add' | 'sub' | 'mul' | 'div', x: Regs, y: Regs): Regs =>
    vb.bin(`${shape}.${name}`, x, y);
  const count = bin('add', a.count, b.count);
  const delta = bin('sub', b.mean, a.mean);
  // b's share; 0 where both are empty.
  const share = vb.bin(
    'v128.and',
    bin('div', b.count, count),
    vb.bin(`${shape}.gt`, count, vb.i32(0)),
  );
  const mean = bin('add', a.mean, bin('mul', delta, share));
  const m2 = bin(
    'add',
    bin('add', a.m2, b.m2),
    bin('mul', bin('mul', delta, delta), bin('mul', a.count, share)),
  );
  return { count, mean, m2 };
}
