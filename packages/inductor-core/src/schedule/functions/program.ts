/**
 * @file `ScalarProgram`: a function of scalars as data, over the operations that every target has.
 *
 * A program says what happens to one element. It is *uniform* when elements may go through it side by side: then its
 * only branches are `if (any(…))`, around work that most calls do not need. Other programs branch by value and are
 * run element by element. Operators are C's; integers wrap, a shift is by less than the width.
 */

/**
 * Types of values. Only targets that compute in 64 bits have i64 and f64. A `pair` is two u32; only programs that run
 * element by element have it.
 */
export type ScalarType = 'bool' | 'i32' | 'u32' | 'i64' | 'f32' | 'f64' | 'pair';

/** Functions of f64 that the host has and that a program may call: those of JavaScript's `Math`. */
export const HOST_FUNCTIONS = ['cos', 'sin', 'tan'] as const;

/** See {@link HOST_FUNCTIONS}. */
export type HostFunction = (typeof HOST_FUNCTIONS)[number];

/** Operations written as a call. `select(a, b, c)` is b where c holds; `round` is to even. */
export type Builtin =
  | HostFunction
  | 'abs'
  | 'any'
  | 'ceil'
  | 'clamp'
  | 'countLeadingZeros'
  | 'floor'
  | 'max'
  | 'min'
  | 'pair'
  | 'round'
  | 'select'
  | 'sqrt'
  | 'trunc';

/** Infix operators. */
export type BinaryOperator =
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '&'
  | '|'
  | '^'
  | '<<'
  | '>>'
  | '=='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>=';

/** A value. */
export type ScalarExpr = { readonly type: ScalarType } & (
  | { readonly kind: 'number'; readonly value: number; readonly text: string }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'item'; readonly array: string; readonly index: ScalarExpr }
  | { readonly kind: 'part'; readonly of: ScalarExpr; readonly part: 'x' | 'y' }
  | { readonly kind: 'unary'; readonly op: '-' | '!' | '~'; readonly arg: ScalarExpr }
  | {
      readonly kind: 'binary';
      readonly op: BinaryOperator;
      readonly left: ScalarExpr;
      readonly right: ScalarExpr;
    }
  | { readonly kind: 'builtin'; readonly name: Builtin; readonly args: readonly ScalarExpr[] }
  /** The same number in another type; floats truncate. */
  | { readonly kind: 'convert'; readonly arg: ScalarExpr }
  /** The same bits in another type. */
  | { readonly kind: 'bitcast'; readonly arg: ScalarExpr }
  | { readonly kind: 'call'; readonly callee: string; readonly args: readonly ScalarExpr[] }
);

/** One step. */
export type ScalarStatement =
  | { readonly kind: 'let' | 'var' | 'set'; readonly name: string; readonly value: ScalarExpr }
  | { readonly kind: 'array'; readonly name: string; readonly items: readonly number[] }
  | {
      readonly kind: 'if';
      readonly condition: ScalarExpr;
      readonly then: readonly ScalarStatement[];
      readonly otherwise: readonly ScalarStatement[];
    }
  | {
      readonly kind: 'while';
      readonly condition: ScalarExpr;
      readonly body: readonly ScalarStatement[];
    }
  | { readonly kind: 'return'; readonly value: ScalarExpr };

/** See the file header. */
export interface ScalarProgram {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly type: ScalarType }[];
  readonly result: ScalarType;
  /** Elements may go through it side by side. */
  readonly uniform: boolean;
  /** Large or hardly ever needed: better called than written in place. */
  readonly called: boolean;
  readonly body: readonly ScalarStatement[];
}

/** What a program may depend on: how the target's arithmetic differs from IEEE 754. */
export interface FunctionTarget {
  /**
   * Comparisons, `min` and `max` know NaN, infinities are infinities, and sums are not rearranged. Where not, NaN is
   * told by its bits, and rounding by adding a large number is kept from being cancelled.
   */
  readonly ieee: boolean;
  /** The functions that it uses, with those that they call. */
  readonly functions: FunctionTable;
}

/** One function. */
export interface FunctionRow {
  /** Largest error in units in the last place; 0 is exact. */
  readonly ulp?: number;
  /** It is large, or most calls of the function that calls this one do not need it: called, not written in place. */
  readonly called?: boolean;
  /** It is one expression of few operations: written in place, never called. */
  readonly inPlace?: true;
  /** The program, in the notation of `parse-program.ts`; it may depend on facts about the target. */
  readonly text: string | ((target: FunctionTarget) => string);
}

/** Functions by name. */
export type FunctionTable = Readonly<Record<string, FunctionRow>>;
