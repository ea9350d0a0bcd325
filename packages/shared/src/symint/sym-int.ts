/**
 * @file `SymInt`: an integer expression over the sizes of a compiled function's inputs.
 *
 * Nodes are hash-consed per `ShapeEnv`: two equal expressions of one environment are the same
 * object, so `===` decides structural equality. Expressions are kept in polynomial normal form: a
 * `sum` of integer multiples of monomials, a monomial being a `product` of atoms or one atom, an
 * atom being a symbol, `floordiv`, `mod`, `min` or `max`. Constants are plain numbers, never nodes.
 * Every operand has a lower `id` than the node that uses it. Modelled on `torch.SymInt` with sympy
 * expressions behind it.
 */
import { TesseraError } from '../errors.js';
import type { RelationOp } from './integer-arithmetic.js';
import { printSize } from './print.js';
import type { Size } from './size.js';
import type { ValueRange } from './value-range.js';

/** What a node computes; see {@link SymInt.args} for its operands. */
export type SymIntKind = 'symbol' | 'sum' | 'product' | 'floordiv' | 'mod' | 'min' | 'max';

/**
 * What an expression needs from the environment that owns it.
 *
 * Arithmetic goes through the owner too, so that programs without symbolic sizes do not load it.
 */
export interface SymIntOwner {
  /** `a + factor * b`. */
  addScaled(a: Size, b: Size, factor: number): Size;
  /** Sum of all sizes. */
  sum(sizes: readonly Size[]): Size;
  /** `a * b`. */
  multiply(a: Size, b: Size): Size;
  /** `floor(n / d)`. */
  floorDiv(n: Size, d: Size): Size;
  /** `n - d * floor(n / d)`. */
  mod(n: Size, d: Size): Size;
  /** Smallest or largest of the sizes. */
  extremum(kind: 'min' | 'max', sizes: readonly Size[]): Size;
  /** The unique node with these parts; operands must already be in canonical order. */
  intern(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs?: readonly number[],
    constant?: number,
  ): SymInt;
  /** The node with these parts if it exists. */
  find(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs?: readonly number[],
    constant?: number,
  ): SymInt | undefined;
  /** The values a size can take, given everything that is known. */
  rangeOf(size: Size): ValueRange;
  /** Makes sure that a divisor is not zero, with a guard where needed. */
  requireNonZero(divisor: SymInt): void;
  /** Evaluates a relation on the hints and records a guard unless the answer is certain. */
  guard(left: Size, op: RelationOp, right: Size): boolean;
  /** The answer where it is certain for every allowed size, else undefined. */
  known(left: Size, op: RelationOp, right: Size): boolean | undefined;
  /** Fixes an expression to its hint with a guard. */
  guardInt(expr: SymInt): number;
}

/** The parts of a node; only the environment creates nodes. */
export interface SymIntParts {
  readonly id: number;
  readonly kind: SymIntKind;
  readonly env: SymIntOwner;
  readonly name: string;
  readonly args: readonly Size[];
  readonly coeffs: readonly number[];
  readonly constant: number;
  readonly hint: number;
}

/** Integer expression over symbols; see the file comment for the normal form. */
export class SymInt {
  /** Creation number in its environment; operands have lower ids. */
  readonly id: number;
  readonly kind: SymIntKind;
  readonly env: SymIntOwner;
  /** The symbol's name (`s0`); empty for other kinds. */
  readonly name: string;
  /**
   * Operands: `sum` monomials, `product` two or more factors (repeated for powers), `floordiv` and
   * `mod` numerator and divisor, `min` and `max` two or more. Only the last four kinds may hold
   * numbers.
   */
  readonly args: readonly Size[];
  /** For a `sum`: the factor of each monomial in {@link args}; else empty. */
  readonly coeffs: readonly number[];
  /** For a `sum`: the constant that is added; else 0. */
  readonly constant: number;
  /** Value for the sizes seen while capturing. */
  readonly hint: number;

  constructor(parts: SymIntParts) {
    this.id = parts.id;
    this.kind = parts.kind;
    this.env = parts.env;
    this.name = parts.name;
    this.args = parts.args;
    this.coeffs = parts.coeffs;
    this.constant = parts.constant;
    this.hint = parts.hint;
  }

  /** The expression as JavaScript source text, with symbols by name. */
  toString(): string {
    return printSize(this);
  }

  /** The same text, so a printed or serialised graph stays readable. */
  toJSON(): string {
    return printSize(this);
  }

  /** @throws symint-arithmetic always. */
  valueOf(): never {
    throw new TesseraError(
      'symint-arithmetic',
      `The symbolic size ${printSize(this)} was used as a plain number.`,
      {
        context: { expression: printSize(this), hint: this.hint },
        hints: [
          'Compute with sizeAdd, sizeMul, sizeFloorDiv and the other size functions, which accept numbers and symbolic sizes.',
        ],
      },
    );
  }

  /** @throws symint-arithmetic unless a string is wanted. */
  [Symbol.toPrimitive](hint: 'string' | 'number' | 'default'): string {
    return hint === 'string' ? printSize(this) : this.valueOf();
  }
}
