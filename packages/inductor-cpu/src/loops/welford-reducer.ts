/**
 * @file Mean and sum of squared deviations in one pass.
 *
 * Each lane keeps count, mean and M2 (Welford's recurrence); lanes and groups are merged with Chan's
 * formula. Rows that fit the cache take two passes instead (see `passes.ts`): less arithmetic and less
 * error.
 *
 * @see Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979
 */
import { activeIn } from '../body/places.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import {
  assign,
  expand,
  laneMasks,
  splatFirst,
  stateRegs,
  swapLanes,
  type Reducer,
  type ReducerContext,
  type ReduceStmt,
  type Step,
} from './reducer.js';

interface Moments {
  readonly count: Regs;
  readonly mean: Regs;
  readonly m2: Regs;
}

/** `welford`. */
export class WelfordReducer implements Reducer {
  readonly #kind: 'f32' | 'f64';
  readonly #count: Local<'v128'>[];
  readonly #mean: Local<'v128'>[];
  readonly #m2: Local<'v128'>[];

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
  ) {
    this.#kind = kindOf(statement.dtype) === 'f64' ? 'f64' : 'f32';
    const count = context.groups * registersPerGroup(this.#kind);
    // Equal in all registers while whole vectors are taken in; only the last iteration may differ.
    this.#count = stateRegs(context.vb, context.combine ? count : 1, 'count');
    this.#mean = stateRegs(context.vb, count, 'mean');
    this.#m2 = stateRegs(context.vb, count, 'm2');
  }

  start(): void {
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

  settle(): void {}

  finish(): readonly Value[] {
    const { vb, combine } = this.context;
    const kind = this.#kind;
    vb.hint = 'welford';
    const to = kindOf(this.statement.dtype);
    if (!combine) {
      return [this.#mean, this.#m2].map((regs) => convert(vb, { kind, uniform: false, regs }, to));
    }
    const at = (i: number): Moments => ({
      count: [this.#count[i] as Reg],
      mean: [this.#mean[i] as Reg],
      m2: [this.#m2[i] as Reg],
    });
    let all = at(0);
    for (let i = 1; i < this.#mean.length; i++) all = this.#merge(all, at(i));
    const swapped = (distance: 1 | 2): Moments => ({
      count: swapLanes(vb, all.count, distance),
      mean: swapLanes(vb, all.mean, distance),
      m2: swapLanes(vb, all.m2, distance),
    });
    all = this.#merge(all, swapped(2));
    if (kind === 'f32') all = this.#merge(all, swapped(1));
    return [all.mean, all.m2].map((regs) =>
      convert(vb, { kind, uniform: true, regs: splatFirst(vb, kind, regs) }, to),
    );
  }

  #merge(a: Moments, b: Moments): Moments {
    const { vb } = this.context;
    const shape = this.#kind === 'f32' ? 'f32x4' : 'f64x2';
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
}
