/**
 * @file `Reducer`: running state of one reduction in vector registers.
 *
 * Every lane of every group has its own partial result. When the reduced variable lies along the lanes,
 * `combine` merges groups and lanes at the end into a uniform value, and elements past the end of the
 * row are masked out; when another variable lies along the lanes, each lane simply is a result.
 * The simple kinds (sum, product, extremes of integers, any, all) are here; extremes of floats,
 * `argmax`, Welford and online softmax have files of their own.
 */
import type { Stmt } from '@tessera/inductor-core';
import { lane, op, shuffle32 } from '../emit/code.js';
import type { BinaryVectorOp } from '../emit/instructions.js';
import type { Local } from '../emit/types.js';
import { convert } from '../body/convert.js';
import { kindOf, registersPerGroup, SHAPES, type ElementKind } from '../body/element-kind.js';
import type { Lanes } from '../body/scope.js';
import type { Value } from '../body/value.js';
import type { Reg, Regs, VectorBuilder } from '../body/vector-builder.js';
import { activeIn } from '../body/places.js';
import { assign, stateRegs } from './state-registers.js';
import { WideSums } from './wide-sums.js';

/** A reduce statement. */
export type ReduceStmt = Extract<Stmt, { kind: 'reduce' }>;

/** Where an update happens. */
export interface Step {
  readonly lanes: Lanes;
  /** Position in the flattened inner loops of each lane, as i32 registers; made when asked for. */
  readonly position: () => Regs;
}

/** See the file header. */
export interface Reducer {
  /** Sets the state to that of nothing; emitted before the loops. */
  start(): void;
  /** Takes in one vector iteration. */
  update(value: Value, step: Step): void;
  /** Moves partial results that lose precision as they grow to a second level; called now and then. */
  settle(): void;
  /** The finished results, one per result id. */
  finish(): readonly Value[];
}

/** What a reducer is made for. */
export interface ReducerContext {
  readonly vb: VectorBuilder;
  readonly groups: number;
  /** Whether lanes are parts of one result. */
  readonly combine: boolean;
  /** Whether sums keep a second level of partial results. */
  readonly settles: boolean;
  /** Whether whole vectors may follow a partial one. */
  readonly ragged: boolean;
}

/** Masks of the valid lanes of group g, per register; undefined where all are valid. */
export function laneMasks(
  vb: VectorBuilder,
  kind: ElementKind,
  active: number,
): readonly (Regs | undefined)[] {
  if (registersPerGroup(kind) === 1) {
    return [active >= 4 ? undefined : vb.i32(...[0, 1, 2, 3].map((k) => (k < active ? -1 : 0)))];
  }
  return [0, 2].map((first) =>
    active >= first + 2 ? undefined : vb.i64(...[0, 1].map((k) => (first + k < active ? -1n : 0n))),
  );
}

/** The registers of a value for all groups, a uniform one repeated. */
export function expand(value: Value, groups: number): Regs {
  if (!value.uniform) return value.regs;
  return Array.from({ length: groups * registersPerGroup(value.kind) }, () => value.regs[0] as Reg);
}

/** Lanes of a register exchanged: halves (distance 2) or neighbours (distance 1, 32-bit lanes only). */
export function swapLanes(vb: VectorBuilder, regs: Regs, distance: 1 | 2): Regs {
  return vb.map([regs], (x) =>
    shuffle32(distance === 2 ? [2, 3, 0, 1] : [1, 0, 3, 2], x as Reg, x as Reg),
  );
}

/** How two partial results of a kind join. */
export interface Joining {
  readonly kind: ElementKind;
  readonly join: (vb: VectorBuilder, a: Regs, b: Regs) => Regs;
}

/** A reduction that joins elements as it joins partial results. */
interface Simple extends Joining {
  /** The result of nothing. */
  readonly identity: (vb: VectorBuilder) => Regs;
}

function joinBy(name: BinaryVectorOp): Simple['join'] {
  return (vb, a, b) => vb.bin(name, a, b);
}

/** 64-bit integers have no minimum and maximum instructions. */
function pickBy(name: 'i64x2.gt_s' | 'i64x2.lt_s'): Simple['join'] {
  return (vb, a, b) => vb.select(vb.bin(name, a, b), a, b);
}

function splat(vb: VectorBuilder, kind: ElementKind, value: number): Regs {
  if (kind === 'f32') return vb.f32(value);
  if (kind === 'f64') return vb.f64(value);
  return kind === 'i64' ? vb.i64(BigInt(value)) : vb.i32(value);
}

function simpleOf(statement: ReduceStmt): Simple {
  const kind = kindOf(statement.dtype);
  const shape = SHAPES[kind];
  switch (statement.op) {
    case 'any':
      return { kind: 'bool', identity: (vb) => vb.i32(0), join: joinBy('v128.or') };
    case 'all':
      return { kind: 'bool', identity: (vb) => vb.i32(-1), join: joinBy('v128.and') };
    case 'sum':
      return { kind, identity: (vb) => splat(vb, kind, 0), join: joinBy(`${shape}.add`) };
    case 'prod':
      return { kind, identity: (vb) => splat(vb, kind, 1), join: joinBy(`${shape}.mul`) };
    default: {
      const larger = statement.op === 'max';
      if (kind === 'bool')
        return {
          kind,
          identity: (vb) => vb.i32(larger ? 0 : -1),
          join: joinBy(larger ? 'v128.or' : 'v128.and'),
        };
      if (kind === 'i64') {
        const limit = larger ? -(2n ** 63n) : 2n ** 63n - 1n;
        return {
          kind,
          identity: (vb) => vb.i64(limit),
          join: pickBy(larger ? 'i64x2.gt_s' : 'i64x2.lt_s'),
        };
      }
      return {
        kind,
        identity: (vb) => vb.i32(larger ? -(2 ** 31) : 2 ** 31 - 1),
        join: joinBy(larger ? 'i32x4.max_s' : 'i32x4.min_s'),
      };
    }
  }
}

const WIDE_SUM: Joining = { kind: 'f64', join: joinBy('f64x2.add') };

/** Merges all groups and lanes into one register with equal lanes. */
export function joinAll(vb: VectorBuilder, { kind, join }: Joining, regs: Regs): Regs {
  let rest = regs;
  while (rest.length > 1) {
    const half = Math.ceil(rest.length / 2);
    rest = [
      ...join(vb, rest.slice(0, rest.length - half), rest.slice(half)),
      ...rest.slice(rest.length - half, half),
    ];
  }
  const halves = join(vb, rest, swapLanes(vb, rest, 2));
  return registersPerGroup(kind) === 2 ? halves : join(vb, halves, swapLanes(vb, halves, 1));
}

/** Sum, product, extremes of integers, any, all. */
export class SimpleReducer implements Reducer {
  readonly #simple: Simple;
  readonly #state: Local<'v128'>[];
  readonly #wide: WideSums | undefined;

  constructor(
    readonly statement: ReduceStmt,
    readonly context: ReducerContext,
  ) {
    const { vb, groups, settles } = context;
    this.#simple = simpleOf(statement);
    const count = groups * registersPerGroup(this.#simple.kind);
    this.#state = stateRegs(vb, count, statement.op);
    if (settles && statement.op === 'sum' && this.#simple.kind === 'f32')
      this.#wide = new WideSums(vb, count);
  }

  start(): void {
    const { vb } = this.context;
    assign(vb, this.#state, this.#simple.identity(vb));
    this.#wide?.start();
  }

  update(value: Value, { lanes }: Step): void {
    const { vb, combine } = this.context;
    const { kind, identity, join } = this.#simple;
    vb.hint = this.statement.op;
    const regs = expand(convert(vb, value, kind), lanes.groups);
    const perGroup = registersPerGroup(kind);
    const taken = regs.map((reg, i) => {
      const mask = combine
        ? laneMasks(vb, kind, activeIn(lanes, Math.floor(i / perGroup)))[i % perGroup]
        : undefined;
      return mask === undefined ? reg : (vb.select(mask, [reg], identity(vb))[0] as Reg);
    });
    // Interleaved: all joins first, then all assignments.
    const joined = taken.map((reg, i) => join(vb, [this.#state[i] as Reg], [reg])[0] as Reg);
    joined.forEach((reg, i) => vb.f.set(this.#state[i] as Local<'v128'>, reg));
  }

  settle(): void {
    this.context.vb.hint = this.statement.op;
    this.#wide?.take(this.#state);
  }

  finish(): readonly Value[] {
    const { vb, combine } = this.context;
    this.settle();
    vb.hint = this.statement.op;
    const { kind, join } = this.#wide === undefined ? this.#simple : WIDE_SUM;
    const regs = this.#wide?.regs ?? this.#state;
    const value: Value = combine
      ? { kind, uniform: true, regs: joinAll(vb, { kind, join }, regs) }
      : { kind, uniform: false, regs };
    return [convert(vb, value, kindOf(this.statement.dtype))];
  }
}

/** The first lane of a register in all lanes. */
export function splatFirst(vb: VectorBuilder, kind: ElementKind, regs: Regs): Regs {
  if (registersPerGroup(kind) === 2)
    return vb.map([regs], (x) => shuffle32([0, 1, 0, 1], x as Reg, x as Reg));
  return vb.map([regs], (x) => op('i32x4.splat', lane('i32x4.extract_lane', 0, x as Reg)));
}
