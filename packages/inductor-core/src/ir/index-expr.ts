/**
 * @file Integer index expressions: where a load or store goes, as data.
 *
 * An index is an integer expression over loop variables (`i0`, `r1`), symbolic sizes (`s0*8 + 1`) and, for
 * gathers, a value computed at run time. Units are elements of the buffer, never bytes. The
 * constructors canonicalise (constants fold, sums flatten and sort, `div`/`mod` by one vanish), so
 * structural equality is semantic equality for affine indices. Modelled on inductor's use of sympy,
 * kept to the forms that code generators need.
 */
import type { Size, SymInt } from '@tessera/shared';
import type { Expr } from './expr.js';

/** Integer expression; all division is floor division and all operands of `div`/`mod` are ≥ 0. */
export type IndexExpr =
  | { readonly kind: 'int'; readonly value: number }
  /** A loop variable by name. */
  | { readonly kind: 'sym'; readonly name: string }
  /** A size that is known when the kernel runs. */
  | { readonly kind: 'size'; readonly size: SymInt }
  /** Sum of two or more terms, constant last. */
  | { readonly kind: 'add'; readonly terms: readonly IndexExpr[] }
  /** Product of two or more factors; the first is a constant or a symbolic size where there is one. */
  | { readonly kind: 'mul'; readonly factors: readonly IndexExpr[] }
  | { readonly kind: 'div'; readonly num: IndexExpr; readonly den: IndexExpr }
  | { readonly kind: 'mod'; readonly num: IndexExpr; readonly den: IndexExpr }
  /** An integer value computed at run time (a gather's index). */
  | { readonly kind: 'value'; readonly value: Expr };

/** A loop variable with its trip count; it runs 0 … size-1. */
export interface LoopVar<S extends Size = number> {
  readonly name: string;
  readonly size: S;
}

/** A loop variable whose trip count may be an expression of symbolic sizes. */
export type SizedLoop<S extends Size = Size> = LoopVar<S>;
