/**
 * @file `Reducer`: the state of one reduction in vector registers.
 *
 * What the state is and what happens to it says the `Reduction`; here are only registers. Every lane of every group
 * has its own state. When the reduced variable lies along the lanes, `fold` merges groups and lanes at the end into
 * a uniform value, and elements past the end of the row are made neutral; when another variable lies along the lanes,
 * each lane simply is a result.
 */
import {
  postorder,
  type Accumulator,
  type Assignments,
  type Expr,
  type Register,
} from '@tessera/inductor-core';
import type { DType } from '@tessera/tensor';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup } from '../body/element-kind.js';
import { constantRegs } from '../body/leaf-values.js';
import { activeIn, anyTrue } from '../body/places.js';
import type { Lanes } from '../body/scope.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs, VectorBuilder } from '../body/vector-builder.js';
import type { Local } from '../emit/types.js';
import { elementType } from '../matmul/element-type.js';
import { expand, joinLanes, laneMasks } from './lane-parts.js';
import { reductionValues } from './reduction-values.js';
import { assign, stateRegs } from './state-registers.js';

/** Where an update happens. */
export interface Step {
  readonly lanes: Lanes;
  /** Position in the flattened inner loops of each lane, as i32 registers; made when asked for. */
  readonly position: () => Regs;
}

/** What a reducer is made for. */
export interface ReducerContext {
  readonly vb: VectorBuilder;
  readonly groups: number;
  /** Whether lanes are parts of one result. */
  readonly combine: boolean;
  /** The number of values that are reduced, in a type. */
  readonly count: (dtype: DType) => Regs;
}

interface StateRegister extends Register {
  readonly locals: readonly Local<'v128'>[];
}

/** See the file header. */
export class Reducer {
  readonly #state: ReadonlyMap<string, StateRegister>;
  /** Values of the registers that parts are merged in, after `part`. */
  parts: readonly Value[] = [];

  constructor(
    readonly accumulator: Accumulator,
    readonly context: ReducerContext,
  ) {
    const { vb, groups, combine } = context;
    this.#state = new Map(
      accumulator.reduction.state.map((register) => {
        const { name, dtype, isAlike } = register;
        // What is alike in all lanes is so in all registers, but for rows that end in the middle of one.
        const isOne = isAlike === true && !combine;
        const count = isOne ? 1 : groups * registersPerGroup(kindOf(dtype));
        return [name, { ...register, locals: stateRegs(vb, count, name) }];
      }),
    );
  }

  /** Sets the state to that of nothing; emitted before the loops. */
  start(): void {
    const { vb } = this.context;
    for (const { locals, dtype, identity } of this.#state.values())
      assign(vb, locals, constantRegs(vb, dtype, identity));
  }

  /** Takes in one vector iteration. */
  update(value: Value, { lanes, position }: Step): void {
    const { vb, combine } = this.context;
    const { reduction, ragged = false } = this.accumulator;
    const { update, neutral } = reduction;
    const isFull = lanes.groups === this.context.groups && activeIn(lanes, lanes.groups - 1) >= 4;
    const isCut = combine && !isFull;
    vb.hint = reduction.op;
    const x = isCut && neutral !== undefined ? this.#padded(value, neutral, lanes) : value;
    const at = (): Value => {
      const regs = position();
      return { kind: 'i32', uniform: regs.length === 1, regs };
    };
    const register = (name: string): Value =>
      this.#read(name, lanes.groups, !isCut && !(combine && ragged));
    const operand = (name: string): Value =>
      name === 'x' ? x : name === 'at' ? at() : register(name);
    for (const { where, set } of update) {
      const [test] = where === undefined ? [] : this.#values([where], operand);
      const step = (): void =>
        this.#assign(
          set,
          operand,
          lanes.groups,
          neutral === undefined && isCut ? lanes : undefined,
        );
      if (test === undefined) step();
      else vb.f.if(anyTrue(test.regs), step);
    }
  }

  /** Adds a product to a sum, with one rounding. */
  addProduct(a: Regs, b: Regs, count: number): void {
    const type = elementType(this.accumulator.dtype)!;
    for (const { locals } of this.#state.values())
      for (const [i, sum] of locals.slice(0, count).entries())
        this.context.vb.f.set(sum, type.fma!(a[i % a.length]!, b[i % b.length]!, sum));
  }

  /** Moves partial results that lose precision as they grow; called now and then. */
  settle(): void {
    const { settling, op } = this.accumulator.reduction;
    if (settling === undefined) return;
    this.context.vb.hint = op;
    this.#assign(settling.set, (name) => this.#read(name), this.context.groups);
  }

  /** Ends the updates: what every lane has is a part now. */
  part(): void {
    this.settle();
    const { handOver, op } = this.accumulator.reduction;
    this.context.vb.hint = op;
    this.parts = this.#values(handOver, (name) => this.#read(name));
  }

  /** Merges the parts of all lanes. */
  fold(): void {
    const { vb, groups } = this.context;
    const { merge, commutes } = this.accumulator.reduction;
    const compares = postorder(merge).some(({ dtype }) => dtype === 'bool');
    const merged: typeof this.merged = (a, b) => this.merged(a, b);
    this.parts = joinLanes(vb, { merge: merged, commutes, compares }, this.parts, groups);
  }

  /** Merges the parts of another one into these. */
  merge(others: readonly Value[]): void {
    this.context.vb.hint = this.accumulator.reduction.op;
    this.parts = this.merged(this.parts, others);
  }

  private merged(a: readonly Value[], b: readonly Value[]): readonly Value[] {
    const { part, merge } = this.accumulator.reduction;
    const operands = new Map<string, Value>();
    part.forEach(({ name }, i) => operands.set(name, a[i]!).set(`other.${name}`, b[i]!));
    return this.#values(merge, (name) => operands.get(name)!);
  }

  /** The finished results, one per result id. */
  finish(): readonly Value[] {
    const { vb, count } = this.context;
    const { dtype, reduction } = this.accumulator;
    const { part, finish } = reduction;
    const size: Value = { kind: kindOf(dtype), uniform: true, regs: [] };
    const results = this.#values(finish, (name) =>
      name === 'size'
        ? { ...size, regs: count(dtype) }
        : this.parts[part.findIndex((register) => register.name === name)]!,
    );
    return results.map((result) => convert(vb, result, kindOf(dtype)));
  }

  #values(roots: readonly Expr[], operand: (name: string) => Value): Value[] {
    return reductionValues(this.context.vb, this.accumulator.reduction, roots, operand);
  }

  /** A register in the first groups; `isAlike` says that all lanes have taken in the same number of values. */
  #read(name: string, groups: number = this.context.groups, isAlike = false): Value {
    const { locals, dtype, isAlike: mayBeAlike } = this.#state.get(name)!;
    const kind = kindOf(dtype);
    const isOne = mayBeAlike === true && (isAlike || !this.context.combine);
    const count = isOne ? 1 : groups * registersPerGroup(kind);
    return { kind, uniform: isOne, regs: locals.slice(0, count) };
  }

  /** Sets registers of the first groups, in `within` only those of valid lanes. */
  #assign(
    set: Assignments,
    operand: (name: string) => Value,
    groups: number,
    within?: Lanes,
  ): void {
    const { vb } = this.context;
    const values = this.#values(
      set.map(([, value]) => value),
      operand,
    );
    const kept = set.map(([name], i) =>
      within === undefined ? values[i]!.regs : this.#kept(name, values[i]!, within),
    );
    set.forEach(([name], i) => {
      const { locals, dtype, isAlike } = this.#state.get(name)!;
      const isForAll = isAlike === true && values[i]!.uniform && within === undefined;
      const count = isForAll ? locals.length : groups * registersPerGroup(kindOf(dtype));
      assign(vb, locals.slice(0, count), kept[i]!);
    });
  }

  #kept(name: string, value: Value, lanes: Lanes): Regs {
    const { vb } = this.context;
    const before = this.#read(name, lanes.groups).regs;
    return this.#masked(value, lanes, (mask, reg, i) => vb.select(mask, [reg], [before[i]!])[0]!);
  }

  #padded(value: Value, neutral: number, lanes: Lanes): Value {
    const { vb } = this.context;
    const nothing = constantRegs(vb, this.accumulator.reduction.dtype, neutral);
    const regs = this.#masked(value, lanes, (mask, reg) => vb.select(mask, [reg], nothing)[0]!);
    return { kind: value.kind, uniform: false, regs };
  }

  #masked(value: Value, lanes: Lanes, choose: (mask: Regs, reg: Reg, i: number) => Reg): Regs {
    const { vb } = this.context;
    const perGroup = registersPerGroup(value.kind);
    return expand(value, lanes.groups).map((reg, i) => {
      const active = activeIn(lanes, Math.floor(i / perGroup));
      const mask = laneMasks(vb, value.kind, active)[i % perGroup];
      return mask === undefined ? reg : choose(mask, reg, i);
    });
  }
}
