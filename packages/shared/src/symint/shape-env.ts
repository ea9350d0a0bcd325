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
import { negateRelation, printRelation, relationKey, relationOf } from './relation.js';
import type { Relation } from './relation.js';
import type { Size } from './size.js';
import { coercionError } from './sym-int.js';
import type { SymInt, SymIntKind, SymIntOwner } from './sym-int.js';
import { inRange, intersectRanges } from './value-range.js';
import type { ValueRange } from './value-range.js';

/** Settings of a {@link ShapeEnv}. */
export interface ShapeEnvOptions {
  /** Sizes 0 and 1 stay numbers, and symbols are at least 2, as in PyTorch (default true). */
  readonly specializeZeroOne?: boolean;
  /** Dimensions with equal hints share a symbol (default true). */
  readonly duckShape?: boolean;
  /** What a symbolic size does in JavaScript arithmetic (default `error`). */
  readonly coercion?: 'error' | 'specialize';
  /** Where the user's code is at this moment, as `file:line:column`; kept with each guard. */
  readonly locate?: () => string | undefined;
}

/** Settings of one symbol. */
export interface SymbolOptions {
  /** Where the value comes from at run time, such as `L['x'].size()[0]`. */
  readonly source: string;
  /** Smallest value (default 2 with zero-one specialisation, else 0). */
  readonly min?: number;
  /** Largest value. */
  readonly max?: number;
  /** Overrides the environment's `specializeZeroOne`. */
  readonly specializeZeroOne?: boolean;
  /** Overrides the environment's `duckShape`. */
  readonly duckShape?: boolean;
}

/** A symbol with the places its value is read from. */
export interface SymbolInfo {
  readonly symbol: SymInt;
  /** All sources have the same value; empty when the value is only known inside the graph. */
  readonly sources: readonly string[];
  /** The range that was declared, before any guard. */
  readonly range: ValueRange;
}

/** A recorded guard. */
export interface ShapeGuard {
  readonly relation: Relation;
  /** The relation as a JavaScript expression over symbol names: `s0 === 2 * s1`. */
  readonly text: string;
  /** The line of user code that asked, if known. */
  readonly location: string | undefined;
}

interface MutableSymbolInfo extends SymbolInfo {
  readonly sources: string[];
  range: ValueRange;
}

/** Symbols, guards and facts of one capture. */
export class ShapeEnv implements SymIntOwner {
  readonly #options: Required<Omit<ShapeEnvOptions, 'locate'>> & Pick<ShapeEnvOptions, 'locate'>;
  readonly #pool: ExprPool = new ExprPool(this);
  readonly #facts: Facts = new Facts(this);
  readonly #symbols = new Map<SymInt, MutableSymbolInfo>();
  readonly #symbolByHint = new Map<number, SymInt>();
  readonly #constants: { source: string; value: number }[] = [];
  readonly #guards = new Map<string, ShapeGuard>();
  /** `guards`, until one is added. */
  #guardList: readonly ShapeGuard[] | null = null;
  readonly #assumptions: ShapeGuard[] = [];

  constructor(options: ShapeEnvOptions = {}) {
    const { specializeZeroOne = true, duckShape = true, coercion = 'error', locate } = options;
    this.#options = { specializeZeroOne, duckShape, coercion, locate };
  }

  /** Every symbol, in order of creation. */
  get symbols(): readonly SymbolInfo[] {
    return [...this.#symbols.values()];
  }

  /** Sources whose value was fixed when the symbol was created (sizes 0 and 1). */
  get constants(): readonly { readonly source: string; readonly value: number }[] {
    return this.#constants;
  }

  /** The recorded guards, in the order they were asked; the same list until one is added. */
  get guards(): readonly ShapeGuard[] {
    return (this.#guardList ??= [...this.#guards.values()]);
  }

  /** Relations on values known only inside the graph; the graph must check them as it runs. */
  get assumptions(): readonly ShapeGuard[] {
    return this.#assumptions;
  }

  /**
   * A size that may vary; a plain number where zero-one specialisation fixes it.
   *
   * With duck sizing, sources with the same hint share one symbol.
   *
   * @throws invalid-argument when the hint is no integer or is outside the declared range.
   */
  createSymbol(hint: number, options: SymbolOptions): Size {
    const {
      specializeZeroOne = this.#options.specializeZeroOne,
      duckShape = this.#options.duckShape,
    } = options;
    if (specializeZeroOne && (hint === 0 || hint === 1)) {
      this.#constants.push({ source: options.source, value: hint });
      return hint;
    }
    const range = declaredRange(options, specializeZeroOne ? 2 : 0);
    if (!Number.isSafeInteger(hint) || !inRange(range, hint)) {
      throw new TesseraError(
        'invalid-argument',
        `The value ${hint} of ${options.source} is not an integer from ${range.lo} to ${range.hi}.`,
        {
          context: { hint, source: options.source, range },
          hints: ['Declare min and max so that the present value lies between them.'],
        },
      );
    }
    const shared = duckShape ? this.#symbolByHint.get(hint) : undefined;
    const symbol = shared ?? this.#pool.symbol(`s${this.#symbols.size}`, hint);
    if (shared === undefined && duckShape) this.#symbolByHint.set(hint, symbol);
    this.#declare(symbol, range, options.source);
    return symbol;
  }

  /** A size that is only known when the graph runs, such as the number of non-zero elements. */
  createUnbackedSymbol(options: { readonly min?: number; readonly max?: number } = {}): SymInt {
    const symbol = this.#pool.symbol(`u${this.#symbols.size}`, undefined);
    this.#declare(symbol, declaredRange(options, 0), undefined);
    return symbol;
  }

  #declare(symbol: SymInt, range: ValueRange, source: string | undefined): void {
    const info = this.#symbols.get(symbol);
    if (info === undefined) {
      this.#symbols.set(symbol, { symbol, sources: source === undefined ? [] : [source], range });
    } else {
      if (source !== undefined) info.sources.push(source);
      info.range = intersectRanges(info.range, range);
    }
    this.#facts.declare(symbol, range);
  }

  /**
   * Whether the relation holds for the present sizes; recorded unless it is certain either way.
   *
   * @throws symint-data-dependent when it depends on a value that is only known at run time.
   */
  guard(left: Size, op: RelationOp, right: Size): boolean {
    const relation = relationOf(this, this.simplify(left), op, this.simplify(right));
    if (typeof relation === 'boolean') return relation;
    const decided = this.#facts.decide(relation);
    if (decided !== undefined) return decided;
    const { hint } = relation.base;
    if (hint === undefined) throw dataDependent(printRelation(relation), this.#options.locate?.());
    const holds = compareNumbers(hint, relation.op, relation.bound);
    this.#record(holds ? relation : negateRelation(relation));
    return holds;
  }

  #record(relation: Relation): void {
    this.#guards.set(relationKey(relation), this.#guardOf(relation));
    this.#guardList = null;
    this.#facts.learn(relation);
  }

  #guardOf(relation: Relation): ShapeGuard {
    return { relation, text: printRelation(relation), location: this.#options.locate?.() };
  }

  /**
   * Fixes an expression to its present value with a guard, and returns it.
   *
   * @throws symint-data-dependent when it has no present value.
   */
  guardInt(expr: Size): number {
    const simplified = this.simplify(expr);
    if (typeof simplified === 'number') return simplified;
    if (simplified.hint === undefined)
      throw dataDependent(simplified.toString(), this.#options.locate?.());
    this.guard(simplified, '==', simplified.hint);
    return simplified.hint;
  }

  /** The answer where it is certain for every allowed size, else undefined; records nothing. */
  known(left: Size, op: RelationOp, right: Size): boolean | undefined {
    const relation = relationOf(this, this.simplify(left), op, this.simplify(right));
    return typeof relation === 'boolean' ? relation : this.#facts.decide(relation);
  }

  /**
   * Demands a relation, as `torch._check`: a guard for sizes of the inputs, an entry of
   * {@link assumptions} for values known only inside the graph.
   *
   * @throws invalid-argument when the relation is false.
   */
  assume(left: Size, op: RelationOp, right: Size): void {
    const relation = relationOf(this, this.simplify(left), op, this.simplify(right));
    const decided = typeof relation === 'boolean' ? relation : this.#facts.decide(relation);
    if (decided === true) return;
    const backed = typeof relation === 'boolean' || relation.base.hint !== undefined;
    if (decided === false || (backed && !this.guard(left, op, right))) {
      throw new TesseraError(
        'invalid-argument',
        `The sizes do not satisfy ${String(left)} ${op} ${String(right)}.`,
        {
          context: { left: String(left), op, right: String(right) },
        },
      );
    }
    if (backed) return;
    this.#assumptions.push(this.#guardOf(relation));
    this.#facts.learn(relation);
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

  coerceToNumber(expr: SymInt): number {
    if (this.#options.coercion === 'specialize') return this.guardInt(expr);
    throw coercionError(expr);
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

function declaredRange(
  options: { readonly min?: number; readonly max?: number },
  lowest: number,
): ValueRange {
  const lo = lowest === 2 ? Math.max(options.min ?? 2, 2) : (options.min ?? lowest);
  return { lo, hi: options.max ?? Infinity };
}

function dataDependent(question: string, location: string | undefined): TesseraError {
  return new TesseraError(
    'symint-data-dependent',
    `Cannot decide ${question}: it depends on data that is only known when the graph runs.`,
    {
      context: { question },
      hints: [
        'State what is known about the size (its smallest and largest value), or break the graph before this line.',
      ],
      ...(location === undefined ? {} : { location }),
    },
  );
}
