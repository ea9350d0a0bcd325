/**
 * @file Vectors of four in the registers of a thread, cells of shared memory, and routines: what kernels are made of
 * whose threads load for each other and use what they loaded many times.
 *
 * **Registers** hold four values each, all of one type (`ScheduledKernel.registers`). One that is cleared keeps what it
 * is set to; one that is only set is known to the end of the body.
 *
 * **Cells** are elements of shared arrays that have a `width`: vectors of four or single values, in rows where the array
 * has some. Threads see each other's writes after a barrier.
 *
 * **Routines** are bodies that are visited at several places, with variables of their own. One may give the four values
 * along its vector, or a condition; results of the fused kernel are registers that it is handed.
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
}

/** Four values, or one. */
export type RegisterValue =
  | { readonly kind: 'register'; readonly name: string; readonly element?: number }
  /** Four single values. */
  | { readonly kind: 'pack'; readonly of: readonly RegisterValue[] }
  | { readonly kind: 'read'; readonly from: Cell }
  | RoutineCall;

/** One statement; see the file header. */
export type RegisterStmt =
  /** Registers become zero, and keep what they are set to from here on. */
  | { readonly kind: 'clear'; readonly of: readonly string[] }
  | { readonly kind: 'set'; readonly register: string; readonly value: RegisterValue }
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
      readonly of: readonly string[];
    }
  /** What a routine gives, as its last statement: zero for elements for which the condition does not hold. */
  | { readonly kind: 'give'; readonly value: Expr; readonly where?: Condition }
  /** Makes an element of an array of bool true where a condition holds; several threads may at once. */
  | { readonly kind: 'mark'; readonly cell: Cell; readonly where: Condition }
  /** Whether a cell was marked by any thread, as a test. All threads get here before any goes on. */
  | { readonly kind: 'agree'; readonly name: string; readonly cell: Cell };

/** A body with variables of its own. */
export interface Routine {
  readonly name: string;
  readonly parameters: readonly string[];
  /** Names of the registers that are results 0, 1, … of the fused kernel in it. */
  readonly results: readonly string[];
  /** Type of the four values that it gives; of a condition, bool. Absent where it gives nothing. */
  readonly gives?: DType;
  readonly body: ScheduledBody;
}
