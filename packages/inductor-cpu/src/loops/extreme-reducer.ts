/**
 * @file Maximum and minimum of floats, where NaN wins.
 *
 * The extreme of the numbers and the presence of NaN are tracked apart: three instructions per element
 * where the NaN-propagating instruction takes about eight.
 */
import { activeIn } from '../body/places.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import {
  expand,
  joinAll,
  laneMasks,
  type Reducer,
  type ReducerContext,
  type ReduceStmt,
  type Step,
} from './reducer.js';
import { assign, stateRegs } from './state-registers.js';

/** `max` and `min` of f32 and f64. */
export class ExtremeReducer implements Reducer {
  readonly #kind: 'f32' | 'f64';
  readonly #extreme: Local<'v128'>[];
  /** All bits set where a lane met NaN. */
  readonly #nan: Local<'v128'>[];

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
    /** Skips NaN instead: for a maximum whose exponentials will be NaN anyway. */
    readonly ignoresNan = false,
  ) {
    this.#kind = kindOf(statement.dtype) === 'f64' ? 'f64' : 'f32';
    const count = context.groups * registersPerGroup(this.#kind);
    this.#extreme = stateRegs(context.vb, count, statement.op);
    this.#nan = ignoresNan ? [] : stateRegs(context.vb, count, 'nan');
  }

  get #shape(): 'f32x4' | 'f64x2' {
    return this.#kind === 'f32' ? 'f32x4' : 'f64x2';
  }

  #number(value: number): Regs {
    const { vb } = this.context;
    return this.#kind === 'f32' ? vb.f32(value) : vb.f64(value);
  }

  get #nothing(): Regs {
    return this.#number(this.statement.op === 'max' ? -Infinity : Infinity);
  }

  /** Keeps a where the comparison with b fails, so NaN in b is ignored. */
  #join(a: Regs, b: Regs): Regs {
    return this.context.vb.bin(
      `${this.#shape}.p${this.statement.op === 'max' ? 'max' : 'min'}`,
      a,
      b,
    );
  }

  start(): void {
    const { vb } = this.context;
    assign(vb, this.#extreme, this.#nothing);
    if (!this.ignoresNan) assign(vb, this.#nan, vb.i32(0));
  }

  update(value: Value, { lanes }: Step): void {
    const { vb, combine } = this.context;
    vb.hint = this.statement.op;
    const regs = expand(convert(vb, value, this.#kind), lanes.groups);
    const perGroup = registersPerGroup(this.#kind);
    const taken = regs.map((reg, i) => {
      const mask = combine
        ? laneMasks(vb, this.#kind, activeIn(lanes, Math.floor(i / perGroup)))[i % perGroup]
        : undefined;
      return mask === undefined ? reg : (vb.select(mask, [reg], this.#nothing)[0] as Reg);
    });
    const extremes = this.#join(this.#extreme.slice(0, taken.length), taken);
    if (this.ignoresNan) {
      assign(vb, this.#extreme.slice(0, taken.length), extremes);
      return;
    }
    const nans = vb.bin(
      'v128.or',
      this.#nan.slice(0, taken.length),
      vb.bin(`${this.#shape}.ne`, taken, taken),
    );
    assign(vb, this.#extreme.slice(0, taken.length), extremes);
    assign(vb, this.#nan.slice(0, taken.length), nans);
  }

  settle(): void {}

  finish(): readonly Value[] {
    const { vb, combine } = this.context;
    vb.hint = this.statement.op;
    const kind = this.#kind;
    let [extreme, nan]: [Regs, Regs] = [this.#extreme, this.#nan];
    if (combine) {
      extreme = joinAll(vb, { kind, join: (_, a, b) => this.#join(a, b) }, extreme);
      if (!this.ignoresNan)
        nan = joinAll(vb, { kind, join: (_, a, b) => vb.bin('v128.or', a, b) }, nan);
    }
    const regs = this.ignoresNan ? extreme : vb.select(nan, this.#number(NaN), extreme);
    const value: Value = { kind, uniform: combine, regs };
    return [convert(vb, value, kindOf(this.statement.dtype))];
  }
}
