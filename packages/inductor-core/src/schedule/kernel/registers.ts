/**
 * @file Vectors of four in the registers of a thread, cells of shared memory, and routines: what kernels are made of
 * whose threads load for each other and use what they loaded many times.
 *
 * **Registers** hold four values each, all of one type (`ScheduledKernel.registers`). One that is cleared, or set to be
 * kept, keeps what it is set to; one that is only set is known to the end of the body.
 *
 * **Cells** are elements of shared arrays that have a `width`: vectors of four or single values, in rows where the array
 * has some. Threads see each other's writes after a barrier.
 *
 * **Routines** are bodies that are visited at several places, with variables of their own. One may give the four values
 * along its vector, or a condition; results of the fused kernel are values that it is handed.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { Condition, ScheduledBody } from './scheduled-kernel.js';

/** An element of a shared array. */
export interface Cell {
  readonly array: string;
  readonly row?: IndexExpr;
  readonly at: IndexExpr;
}

/** A visit of a routine that gives something. */
export interface RoutineCall {
  readonly kind: 'call';
  readonly routine: string;
  readonly at: readonly IndexExpr[];
  /** Results that it is handed. */
  readonly of?: readonly RegisterValue[];
}

/**
 * Arithmetic on each of four values, or on single ones. `larger` may give either where one is NaN. `quick exp` is for what
 * stands beside e^0: it may be off by 2|x| units in the last place. `equal` and `greater` compare the first two values:
 * where that holds they are the third, and otherwise the fourth.
 */
export type RegisterOp =
  'add' | 'sub' | 'mul' | 'div' | 'larger' | 'exp' | 'quick exp' | 'log' | 'equal' | 'greater';

/** Four values, or one, which is each of four where others have four. */
export type RegisterValue =
  | { readonly kind: 'register'; readonly name: string; readonly element?: number }
  | { readonly kind: 'number'; readonly value: number }
  /** Four single values. */
  | { readonly kind: 'pack'; readonly of: readonly RegisterValue[] }
  | { readonly kind: 'read'; readonly from: Cell }
  | { readonly kind: 'op'; readonly op: RegisterOp; readonly of: readonly RegisterValue[] }
  /** All elements of some registers together: one value. */
  | { readonly kind: 'fold'; readonly by: 'add' | 'larger'; readonly of: readonly string[] }
  | RoutineCall;

/** One statement; see the file header. */
export type RegisterStmt =
  /** Registers become zero, and keep what they are set to from here on. */
  | { readonly kind: 'clear'; readonly of: readonly string[] }
  | {
      readonly kind: 'set';
      readonly register: string;
      readonly value: RegisterValue;
      /** It is new, and keeps what it is set to from here on. */
      readonly keeps?: true;
    }
  | { readonly kind: 'add'; readonly to: string; readonly value: RegisterValue }
  /** Adds an outer product: to each row of registers, one of the values of `rows` times `columns`. */
  | {
      readonly kind: 'multiply';
      readonly to: readonly (readonly string[])[];
      readonly rows: readonly string[];
      readonly columns: readonly string[];
    }
  | { readonly kind: 'write'; readonly to: Cell; readonly value: RegisterValue }
  /** Visits a routine that gives nothing, with results. */
  | {
      readonly kind: 'visit';
      readonly routine: string;
      readonly at: readonly IndexExpr[];
      readonly of: readonly RegisterValue[];
    }
  /** Brings together a register of each thread and of that whose number differs in one bit: both have the same then. */
  | {
      readonly kind: 'pair';
      readonly of: readonly string[];
      readonly by: 'add' | 'larger';
      readonly bit: number;
    }
  /** What a routine gives, as its last statement: zero, or another number, for elements for which the condition does not hold. */
  | {
      readonly kind: 'give';
      readonly value: Expr;
      readonly where?: Condition;
      readonly otherwise?: number;
    }
  /** Makes an element of an array of bool true where a condition holds; several threads may at once. */
  | { readonly kind: 'mark'; readonly cell: Cell; readonly where: Condition }
  /** Whether a cell was marked by any thread, as a test. All threads get here before any goes on. */
  | { readonly kind: 'agree'; readonly name: string; readonly cell: Cell };

/** A body with variables of its own. */
export interface Routine {
  readonly name: string;
  readonly parameters: readonly string[];
  /** Names of the values that are results 0, 1, … of the fused kernel in it. */
  readonly results: readonly string[];
  /** Results are single values. */
  readonly isSingle?: true;
  /** Exponentials may be as `quick exp` is. */
  readonly isQuick?: true;
  /** Type of the four values that it gives; of a condition, bool. Absent where it gives nothing. */
  readonly gives?: DType;
  readonly body: ScheduledBody;
}
