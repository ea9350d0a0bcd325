/**
 * @file `ShapeEnv`: the symbols of one capture, the guards on them and what the guards imply.
 *
 * While a function is captured, sizes that may vary are symbols with a hint (their present value).
 * Code that branches on a size asks `guard`, which answers for the hint and records the relation;
 * the compiled result is valid for every call whose sizes satisfy all recorded relations. Recorded
 * relations are facts from then on: they simplify expressions and answer later questions, so a
 * question is asked of the caller's sizes at most once. Modelled on
 * `torch.fx.experimental.symbolic_shapes.ShapeEnv`.
 */
import { TesseraError } from '../errors.js';
import { floorDivSizes, modSizes } from './divide.js';
import { ExprPool } from './expr-pool.js';
import { extremumOf } from './extremum.js';
import { Facts } from './facts.js';
import { compareNumbers } from './integer-arithmetic.js';
import type { RelationOp } from './integer-arithmetic.js';
import { addScaledSize, multiplySizes, sumOfSizes } from './polynomial.js';
import { negateRelation, relationKey, relationOf } from './relation.js';
import type { Relation } from './relation.js';
import type { Size } from './size.js';
import type { SymInt, SymIntKind, SymIntOwner } from './sym-int.js';
import { inRange } from './value-range.js';
import type { ValueRange } from './value-range.js';

/** Settings of one symbol. */
export interface SymbolOptions {
  /** Where the value comes from at run time, such as `L['x'].size()[0]`, for messages. */
  readonly source: string;
  /** Smallest value (default 0). */
  readonly min?: number;
  /** Largest value. */
  readonly max?: number;
}

/** Symbols, guards and facts of one capture. */
export class ShapeEnv implements SymIntOwner {
  readonly #pool: ExprPool = new ExprPool(this);
  readonly #facts: Facts = new Facts(this);
  #symbols = 0;
  readonly #guards = new Map<string, Relation>();
  /** The recorded guards, in the order they were asked; the same list until one is added. */
  guards: readonly Relation[] = [];

  /**
   * A size that may vary.
   *
   * @throws invalid-argument when the hint is no integer or is outside the declared range.
   */
  createSymbol(hint: number, { source, min = 0, max = Infinity }: SymbolOptions): SymInt {
    const range = { lo: min, hi: max };
    if (!Number.isSafeInteger(hint) || !inRange(range, hint)) {
      throw new TesseraError(
        'invalid-argument',
        `The value ${hint} of ${source} is not an integer from ${min} to ${max}.`,
        {
          context: { hint, source, range },
          hints: ['Declare min and max so that the present value lies between them.'],
        },
      );
    }
    const symbol = this.#pool.symbol(`s${this.#symbols++}`, hint);
    this.#facts.declare(symbol, range);
    return symbol;
  }

  /** Whether the relation holds for the present sizes; recorded unless it is certain either way. */
  guard(left: Size, op: RelationOp, right: Size): boolean {
    const relation = relationOf(this, this.simplify(left), op, this.simplify(right));
    if (typeof relation === 'boolean') return relation;
    const decided = this.#facts.decide(relation);
    if (decided !== undefined) return decided;
    const holds = compareNumbers(relation.base.hint, relation.op, relation.bound);
    const found = holds ? relation : negateRelation(relation);
    this.#guards.set(relationKey(found), found);
    this.guards = [...this.#guards.values()];
    this.#facts.learn(found);
    return holds;
  }

  /** Fixes an expression to its present value with a guard, and returns it. */
  guardInt(expr: Size): number {
    const simplified = this.simplify(expr);
    if (typeof simplified === 'number') return simplified;
    this.guard(simplified, '==', simplified.hint);
    return simplified.hint;
  }

  /** The answer where it is certain for every allowed size, else undefined; records nothing. */
  known(left: Size, op: RelationOp, right: Size): boolean | undefined {
    const relation = relationOf(this, this.simplify(left), op, this.simplify(right));
    return typeof relation === 'boolean' ? relation : this.#facts.decide(relation);
  }

  /**
   * Demands a relation, as `torch._check`: a guard.
   *
   * @throws invalid-argument when the relation is false.
   */
  assume(left: Size, op: RelationOp, right: Size): void {
    if (this.guard(left, op, right)) return;
    throw new TesseraError(
      'invalid-argument',
      `The sizes do not satisfy ${String(left)} ${op} ${String(right)}.`,
      {
        context: { left: String(left), op, right: String(right) },
      },
    );
  }

  /** The size with every recorded equality and range applied. */
  simplify(size: Size): Size {
    return this.#facts.simplify(size);
  }

  /** The values a size can take in any call that satisfies the guards. */
  rangeOf(size: Size): ValueRange {
    return this.#facts.rangeOf(size);
  }

  addScaled(a: Size, b: Size, factor: number): Size {
    return addScaledSize(this, a, b, factor);
  }

  sum(sizes: readonly Size[]): Size {
    return sumOfSizes(this, sizes);
  }

  multiply(a: Size, b: Size): Size {
    return multiplySizes(this, a, b);
  }

  floorDiv(n: Size, d: Size): Size {
    return floorDivSizes(this, n, d);
  }

  mod(n: Size, d: Size): Size {
    return modSizes(this, n, d);
  }

  extremum(kind: 'min' | 'max', sizes: readonly Size[]): Size {
    return extremumOf(this, kind, sizes);
  }

  requireNonZero(divisor: SymInt): void {
    const { lo, hi } = this.rangeOf(divisor);
    if (lo > 0 || hi < 0) return;
    this.assume(divisor, '!=', 0);
  }

  intern(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs?: readonly number[],
    constant?: number,
  ): SymInt {
    return this.#pool.intern(kind, args, coeffs, constant);
  }

  find(
    kind: SymIntKind,
    args: readonly Size[],
    coeffs?: readonly number[],
    constant?: number,
  ): SymInt | undefined {
    return this.#pool.find(kind, args, coeffs, constant);
  }
}
