/**
 * @file `Reduction`: how values are reduced, as data.
 *
 * The state of a reduction is a few registers, of which every lane (or thread, or cell of an interpreter) has its own.
 * What happens to them is expressions over named operands, which are written as `scalar` expressions:
 *
 * | operand | what it is | known to |
 * |---|---|---|
 * | a register's name | its value | all |
 * | `x`, `at` | the value that is taken in, and its place in the inner loops | `update` |
 * | `other.` and a register's name | the register of the part that is merged into this one | `merge` |
 * | `size` | how many values were reduced | `finish` |
 *
 * ```
 * argmax(x: f32)
 *   state best: f32 = -inf, index: i32 = 0
 *   update:
 *     t0: bool = gt(x, best) …
 *     best = where(t0, x, best)
 *     index = where(t0, at, index)
 * ```
 *
 * A code generator declares registers and spells expressions; it knows no reduction by name. Lanes, subgroups and
 * workgroups merge with the same `merge`, in any order. Expressions are shallow: recursion over them is fine.
 */
import type { DType } from '@tessera/tensor';
import type { IrBuilder } from '../ir/build.js';
import type { Expr, ReduceOp } from '../ir/expr.js';

/** One value of the state. */
export interface Register {
  readonly name: string;
  readonly dtype: DType;
  /** The value where nothing was reduced. */
  readonly identity: number;
  /** Equal in all lanes that have taken in the same number of values, whichever these were. */
  readonly isAlike?: true;
}

/** New values of registers, all of them computed from the old ones. */
export type Assignments = readonly (readonly [register: string, value: Expr])[];

/** A step of an update. */
export interface UpdateStep {
  /** Where this is false the step changes nothing; it may be left out where no lane needs it. */
  readonly where?: Expr;
  readonly set: Assignments;
}

/** Moves what would lose precision, as it grows, to registers that hold more. */
export interface Settling {
  /** Values of a lane after which the loss would show; without it, moving costs as much as many updates. */
  readonly every?: number;
  readonly set: Assignments;
}

/** See the file header. */
export interface Reduction {
  readonly op: ReduceOp;
  /** Type of the values that are reduced. */
  readonly dtype: DType;
  readonly state: readonly Register[];
  /** Run one after the other for each value. */
  readonly update: readonly UpdateStep[];
  /** A value that leaves the results as they are; without it, lanes that have none keep their registers. */
  readonly neutral?: number;
  /** Run now and then, and after the last value. */
  readonly settling?: Settling;
  /** Registers that parts are merged in: the state, or what is left of it after settling. */
  readonly part: readonly Register[];
  /** The values of `part`, from the state. */
  readonly handOver: readonly Expr[];
  /** The values of `part` for two parts together. */
  readonly merge: readonly Expr[];
  /** Whether `merge` gives the same bits whichever part comes first. */
  readonly commutes: boolean;
  /** The results, from `part`. Of 16-bit floats they are float32: a store rounds them. */
  readonly finish: readonly Expr[];
  /** No exponential has an argument above zero. */
  readonly decays?: true;
}

/**
 * Values after which a float32 sum settles: n equal values are off by up to n / 2 times 2⁻²⁴ of their sum, which so
 * stays below a millionth.
 */
export const SETTLE_EVERY = 32;

/** Whether lanes take in so many values that sums have to settle. */
export function mustSettle(valuesOfLane: number): boolean {
  return valuesOfLane > 2 * SETTLE_EVERY;
}

/** Reads registers; `from` says of which part. */
export function readAll<const Registers extends readonly Register[]>(
  ir: IrBuilder,
  registers: Registers,
  from: '' | 'other.' = '',
): { readonly [K in keyof Registers]: Expr } {
  return registers.map(({ name, dtype }) => ir.scalar(dtype, `${from}${name}`)) as {
    readonly [K in keyof Registers]: Expr;
  };
}

/** A reduction whose parts are its state. */
export function unsettled(
  ir: IrBuilder,
  reduction: Omit<Reduction, 'part' | 'handOver'>,
): Reduction {
  const { state } = reduction;
  return { ...reduction, part: state, handOver: readAll(ir, state) };
}
