/**
 * @file Blocks of matrix products: what kernels are made of whose machine has caches, which multiply many times what
 * they laid in order once.
 *
 * A **product** is `Σ_step a(line, step) · b(line, step)`, a result for each pair of lines. `pack` makes a block of a side
 * ready; `product` multiplies the blocks of both sides that are. Results go to an array or a buffer, in rows: one line of
 * `a` each. Blocks are of one entry of the batch; lines and steps are counted from the first, over all their variables.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LinearForm } from '../../ir/linear-form.js';
import type { ImageLayout } from './image-layout.js';
import type { NarrowWeight, RowForm } from './narrow-weight.js';

/** Which elements of rows of an array are neighbours, and how they are read: four of each way at once where `transposed`. */
export type PackOrder = 'lines' | 'transposed' | 'steps';

/**
 * How a block lies when it is multiplied.
 *
 * - `in place`: as the operand does.
 * - `made`: in an array that other statements wrote, from its begin; `arranged`, of a row that `values` has.
 * - `panels`: as many lines as a tile has, one step after the other; then the next ones.
 * - `rows`: one line or one step after the other.
 * - `image`: as a tile of an image.
 * - `evaluated`: nowhere. Elements are computed where they are multiplied, in vectors along lines or steps; of weights of few
 *   bits as is best for their format.
 */
export type BlockLayout =
  | { readonly kind: 'in place'; readonly from: PlainOperand }
  | {
      readonly kind: 'made';
      readonly array: string;
      /** Elements from a line to the next, and from a step to the next. */
      readonly line: number;
      readonly step: number;
      readonly arranged?: { readonly as: RowForm; readonly values: string };
    }
  | (PackedExtent & { readonly kind: 'panels'; readonly from: PlainOperand | WordParts })
  | (PackedExtent & {
      readonly kind: 'rows';
      readonly order: PackOrder;
      /** Blocks begin at any line, and not at multiples of `lines`. */
      readonly anywhere?: true;
    })
  | ImageLayout
  | {
      readonly kind: 'evaluated';
      readonly along: 'lines' | 'steps';
      readonly weight?: NarrowWeight;
    };

/** An operand that is one load at an affine index whose lines and steps each act as one variable. */
export interface PlainOperand {
  readonly buf: string;
  readonly index: LinearForm;
  /** Elements from one row (of A) or column (of B) to the next. */
  readonly lineStride: number;
  /** Elements from one k to the next. */
  readonly stepStride: number;
}

/** Elements that are parts of what is loaded, the last digit of steps says which: all parts of a word are made of one load. */
export interface WordParts {
  /** The part for each value of the digit. */
  readonly exprs: readonly Expr[];
  /** Steps without the digit. */
  readonly words: readonly SizedLoop[];
}

/** The array of a packed block, and how much of the operand fits there. */
export interface PackedExtent {
  readonly array: string;
  readonly lines: number;
  readonly steps: number;
}

/** One side of a product. */
export interface BlockSide {
  readonly lines: readonly SizedLoop[];
  /** Absent of what is `made`. */
  readonly value?: Expr;
  readonly layout: BlockLayout;
}

/** See the file header. */
export interface BlockProduct {
  readonly name: string;
  readonly a: BlockSide;
  readonly b: BlockSide;
  readonly batch: readonly SizedLoop[];
  readonly steps: readonly SizedLoop[];
  /**
   * Rows, and vectors of each, whose results are kept in registers; of what is evaluated, rows and the columns or steps that
   * are taken together. `tail`: vectors of each tile behind whole ones, where it is not one as wide as what is left.
   * `apart`: from one column that is taken together with others to the next, where there are enough.
   */
  readonly tile: {
    readonly rows: number;
    readonly vectors: number;
    readonly tail?: number;
    readonly apart?: number;
  };
  /** Lines of `a` and of `b` after which blocks end, or else at whole tiles; null where they end anywhere. */
  readonly ends: readonly [Size | null, Size | null];
  /** An array or a buffer, and its elements from a row of results to the next. */
  readonly to: string;
  readonly row: number;
}

/** First and number of lines or steps. */
export type BlockRange = readonly [first: IndexExpr, count: IndexExpr];

/** One statement; see the file header. */
export type BlockStmt =
  | {
      readonly kind: 'pack';
      readonly product: string;
      readonly side: 'a' | 'b';
      readonly batch: IndexExpr;
      /** One range; of an image one of rows and one of columns. */
      readonly lines: readonly BlockRange[];
      readonly steps: BlockRange;
    }
  /** Arranges the values of a row: `length` of an array, from its begin. */
  | {
      readonly kind: 'arrange';
      readonly array: string;
      readonly from: string;
      readonly length: number;
      readonly as: RowForm;
    }
  /** Results lie from element `at` on; where `onto` is not 0 they are added to what lies there. */
  | {
      readonly kind: 'product';
      readonly product: string;
      readonly rows: IndexExpr;
      readonly columns: IndexExpr;
      readonly steps: IndexExpr;
      readonly at: IndexExpr;
      readonly onto: IndexExpr;
    };
