/**
 * @file Maximum and Σ exp(x - maximum) in one pass.
 *
 * Each lane keeps its own running maximum m and sum s. When no lane of a vector exceeds its maximum,
 * which soon is nearly always so, s += exp(x - m) is all; otherwise s is rescaled first. The maximum
 * starts at the lowest finite number, so that elements of -∞ add exp(-∞) = 0; a row of nothing else is
 * recognised at the end by s = 0. Sums of long rows have a second level in float64, rescaled with them.
 *
 * @see Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018
 */
import { activeIn } from '../body/places.js';
import { convert } from '../body/convert.js';
import { kindOf } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import { op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { emitExpNonPositive } from '../math/exponential.js';
import {
  expand,
  laneMasks,
  swapLanes,
  type Reducer,
  type ReducerContext,
  type ReduceStmt,
  type Step,
} from './reducer.js';
import { assign, stateRegs } from './state-registers.js';
import { WideSums } from './wide-sums.js';

const LOWEST = -3.4028234663852886e38;

interface Partial {
  readonly max: Regs;
  readonly sum: Regs;
}

/** `online_softmax` of f32 values. */
export class OnlineSoftmaxReducer implements Reducer {
  readonly #max: Local<'v128'>[];
  readonly #sum: Local<'v128'>[];
  readonly #wide: WideSums | undefined;

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
  ) {
    this.#max = stateRegs(context.vb, context.groups, 'max');
    this.#sum = stateRegs(context.vb, context.groups, 'sum');
    if (context.settles) this.#wide = new WideSums(context.vb, context.groups);
  }

  start(): void {
    const { vb } = this.context;
    assign(vb, this.#max, vb.f32(LOWEST));
    assign(vb, this.#sum, vb.f32(0));
    this.#wide?.start();
  }

  update(value: Value, { lanes }: Step): void {
    const { vb, combine } = this.context;
    const { f } = vb;
    vb.hint = 'softmax';
    const given = expand(convert(vb, value, 'f32'), lanes.groups);
    const x = given.map((reg, g) => {
      const mask = combine ? laneMasks(vb, 'f32', activeIn(lanes, g))[0] : undefined;
      return mask === undefined ? reg : (vb.select(mask, [reg], vb.f32(-Infinity))[0] as Reg);
    });
    const max = this.#max.slice(0, x.length);
    const sum = this.#sum.slice(0, x.length);
    const exceeds = vb.bin('f32x4.gt', x, max);
    const any = exceeds
      .slice(1)
      .reduce<Code<'v128'>>((a, b) => op('v128.or', a, b), exceeds[0] as Reg);
    f.if(op('v128.any_true', any), () => {
      const larger = vb.bin('f32x4.pmax', max, x);
      const scale = emitExpNonPositive(vb, vb.sub(max, larger));
      assign(vb, sum, vb.mul(sum, scale));
      this.#wide?.scale(scale);
      assign(vb, max, larger);
    });
    assign(vb, sum, vb.add(sum, emitExpNonPositive(vb, vb.sub(x, max))));
  }

  settle(): void {
    this.context.vb.hint = 'softmax';
    this.#wide?.take(this.#sum);
  }

  finish(): readonly Value[] {
    const { vb, combine } = this.context;
    this.settle();
    vb.hint = 'softmax';
    const sums = this.#wide?.rounded ?? this.#sum;
    let all: Partial = { max: this.#max, sum: sums };
    if (combine) {
      all = { max: [this.#max[0] as Reg], sum: [sums[0] as Reg] };
      for (let g = 1; g < this.#max.length; g++)
        all = this.#merge(all, { max: [this.#max[g] as Reg], sum: [sums[g] as Reg] });
      for (const distance of [2, 1] as const) {
        all = this.#merge(all, {
          max: swapLanes(vb, all.max, distance),
          sum: swapLanes(vb, all.sum, distance),
        });
      }
    }
    const isEmpty = vb.bin('f32x4.eq', all.sum, vb.f32(0));
    const isNan = vb.bin('f32x4.ne', all.sum, all.sum);
    const max = vb.select(isEmpty, vb.f32(-Infinity), this.#keepNan(isNan, all.max));
    const results = [max, vb.select(isEmpty, vb.f32(NaN), all.sum)];
    return results.map((regs) =>
      convert(vb, { kind: 'f32', uniform: combine, regs }, kindOf(this.statement.dtype)),
    );
  }

  /** NaN among the elements makes the maximum NaN, +∞ among them does not. */
  #keepNan(isNan: Regs, max: Regs): Regs {
    const { vb } = this.context;
    const infinite = vb.bin('f32x4.eq', max, vb.f32(Infinity));
    return vb.select(vb.bin('v128.andnot', isNan, infinite), vb.f32(NaN), max);
  }

  #merge(a: Partial, b: Partial): Partial {
    const { vb } = this.context;
    const max = vb.bin('f32x4.pmax', a.max, b.max);
    const scaled = (part: Partial): Regs =>
      vb.mul(part.sum, emitExpNonPositive(vb, vb.sub(part.max, max)));
    return { max, sum: vb.add(scaled(a), scaled(b)) };
  }
}
