/**
 * @file Index of the largest or smallest element: the first one, and NaN wins.
 *
 * A lane meets its elements in order of position, so a strict comparison keeps the first; merging
 * lanes compares positions where values are equal.
 */
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup, SHAPES, type ElementKind } from '../body/element-kind.js';
import { activeIn } from '../body/places.js';
import { boolValue, maskFor, type Value } from '../body/value.js';
import type { BinaryVectorOp } from '../emit/instructions.js';
import type { Local } from '../emit/types.js';
import type { Reg, Regs } from '../body/vector-builder.js';
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

interface Candidate {
  readonly value: Regs;
  /** i32 registers, one per group. */
  readonly position: Regs;
}

/** `argmax` and `argmin`. */
export class ArgmaxReducer implements Reducer {
  readonly #kind: ElementKind;
  readonly #value: Local<'v128'>[];
  readonly #position: Local<'v128'>[];

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
  ) {
    const kind = kindOf(statement.value.dtype);
    this.#kind = kind === 'bool' ? 'i32' : kind;
    this.#value = stateRegs(
      context.vb,
      context.groups * registersPerGroup(this.#kind),
      statement.op,
    );
    this.#position = stateRegs(context.vb, context.groups, 'position');
  }

  start(): void {
    const { vb, groups, combine } = this.context;
    const larger = this.statement.op === 'argmax';
    const worst: Record<ElementKind, () => Regs> = {
      f32: () => vb.f32(larger ? -Infinity : Infinity),
      f64: () => vb.f64(larger ? -Infinity : Infinity),
      i32: () => vb.i32(larger ? -(2 ** 31) : 2 ** 31 - 1),
      bool: () => vb.i32(0),
      i64: () => vb.i64(larger ? -(2n ** 63n) : 2n ** 63n - 1n),
    };
    assign(vb, this.#value, worst[this.#kind]());
    // Where nothing is better than the start, the first element of the lane is the answer.
    for (let g = 0; g < groups; g++)
      assign(
        vb,
        [this.#position[g] as Local<'v128'>],
        combine ? vb.i32(4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3) : vb.i32(0),
      );
  }

  update(value: Value, { lanes, position }: Step): void {
    const { vb, combine } = this.context;
    vb.hint = this.statement.op;
    const perGroup = registersPerGroup(this.#kind);
    const regs = expand(convert(vb, value, this.#kind), lanes.groups);
    const state = this.#value.slice(0, regs.length);
    const isBetter = this.#better(regs, state);
    const valid = isBetter.map((mask, i) => {
      const inside = combine
        ? laneMasks(vb, this.#kind, activeIn(lanes, Math.floor(i / perGroup)))[i % perGroup]
        : undefined;
      return inside === undefined ? mask : (vb.bin('v128.and', [mask], inside)[0] as Reg);
    });
    const chosen = vb.select(valid, regs, state);
    const narrow = boolValue(vb, this.#kind, false, valid).regs;
    const at = position();
    const places = narrow.map(
      (mask, g) =>
        vb.select(
          [mask],
          [at[at.length === 1 ? 0 : g] as Reg],
          [this.#position[g] as Reg],
        )[0] as Reg,
    );
    chosen.forEach((reg, i) => vb.f.set(this.#value[i] as Local<'v128'>, reg));
    places.forEach((reg, g) => vb.f.set(this.#position[g] as Local<'v128'>, reg));
  }

  /** x beats y: larger (smaller), or NaN against a number. */
  #better(x: Regs, y: Regs): Regs {
    const { vb } = this.context;
    const shape = SHAPES[this.#kind];
    const isFloat = shape === 'f32x4' || shape === 'f64x2';
    const name = this.statement.op === 'argmax' ? 'gt' : 'lt';
    const beats = vb.bin(`${shape}.${name}${isFloat ? '' : '_s'}` as BinaryVectorOp, x, y);
    if (!isFloat) return beats;
    const newNan = vb.bin('v128.andnot', vb.bin(`${shape}.ne`, x, x), vb.bin(`${shape}.ne`, y, y));
    return vb.bin('v128.or', beats, newNan);
  }

  settle(): void {}

  finish(): readonly Value[] {
    const { vb, combine, groups } = this.context;
    vb.hint = this.statement.op;
    const to = kindOf(this.statement.dtype);
    if (!combine) return [convert(vb, { kind: 'i32', uniform: false, regs: this.#position }, to)];
    const perGroup = registersPerGroup(this.#kind);
    const group = (g: number): Candidate => ({
      value: this.#value.slice(g * perGroup, (g + 1) * perGroup),
      position: [this.#position[g] as Reg],
    });
    let best = group(0);
    for (let g = 1; g < groups; g++) best = this.#merge(best, group(g));
    // Lanes exchange with the other half, then with the neighbour; the registers of a 64-bit group count as halves.
    const exchanged = (c: Candidate, distance: 1 | 2): Candidate => ({
      value:
        perGroup === 1
          ? swapLanes(vb, c.value, distance)
          : distance === 2
            ? [c.value[1] as Reg, c.value[0] as Reg]
            : swapLanes(vb, c.value, 2),
      position: swapLanes(vb, c.position, distance),
    });
    best = this.#merge(best, exchanged(best, 2));
    best = this.#merge(best, exchanged(best, 1));
    return [convert(vb, { kind: 'i32', uniform: true, regs: best.position }, to)];
  }

  /** The better of two candidates per lane; of equal ones (two NaN too) the one that comes first. */
  #merge(a: Candidate, b: Candidate): Candidate {
    const { vb } = this.context;
    const narrow = (regs: Regs): Regs => boolValue(vb, this.#kind, false, regs).regs;
    const beats = narrow(this.#better(b.value, a.value));
    const loses = narrow(this.#better(a.value, b.value));
    const isEarlier = vb.bin('i32x4.lt_s', b.position, a.position);
    const take = vb.bin('v128.or', beats, vb.bin('v128.andnot', isEarlier, loses));
    return {
      value: vb.select(
        maskFor(vb, { kind: 'bool', uniform: false, regs: take }, this.#kind),
        b.value,
        a.value,
      ),
      position: vb.select(take, b.position, a.position),
    };
  }
}
