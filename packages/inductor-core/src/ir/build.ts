/**
 * @file `IrBuilder`: hash-consing constructors of scalar expressions, with local simplification.
 *
 * One builder serves one compilation (or one kernel); equal expressions made by it are the same object,
 * so lowering gets common-subexpression elimination for nothing and code generators share by identity.
 * Simplifications never change a result, NaN, infinities and signed zeros included.
 */
import {
  ANY_INTEGER,
  type Size,
  type SymInt,
  type ValueRange,
  addRanges,
  scaleRange,
} from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { ValueCheck } from '@tessera/tensor/internal';
import type { Expr, ScalarOp } from './expr.js';
import { IndexBuilder } from './index-build.js';
import type { IndexExpr } from './index-expr.js';
import { type Comparison, decideComparison } from './decide-comparison.js';
import { holds } from './exact-conversion.js';
import { checkAt, checkKey } from './kernel-checks.js';
import { NARROW_INTEGERS, OVERFLOWING_OPS, PREDICATES } from './scalar-ops.js';
import { castScalar, constantOf, evalScalar, isFloat, isHalf } from './scalar-eval.js';
import { rangeOf } from './integer-ranges.js';
import { type ValueFacts, valueInterval } from './value-interval.js';
import { operands, postorder } from './walk.js';

/** The new condition of a check whose operands are rewritten. */
export type ConditionRule = (ok: Expr, check: CheckExpr) => Expr;
type CheckExpr = Extract<Expr, { kind: 'check' }>;

/** How to rebuild expressions under changed symbols, loads or results. */
export interface Rewrite {
  /** New index for a symbol; undefined keeps it. */
  readonly symbol?: (name: string) => IndexExpr | undefined;
  /** The value of a symbolic size; undefined keeps it. */
  readonly size?: (size: SymInt) => Size;
  /** Replacement of a load, given its rewritten index; undefined keeps it. */
  readonly load?: (load: Extract<Expr, { kind: 'load' }>, index: IndexExpr) => Expr | undefined;
  /** New condition of a check, given its rewritten one. */
  readonly check?: ConditionRule;
  /** Replacement of a finished result; undefined keeps it. */
  readonly acc?: (acc: Extract<Expr, { kind: 'acc' }>) => Expr | undefined;
}

/** See the file header. */
export class IrBuilder extends IndexBuilder {
  private readonly exprs = new Map<string, Expr>();
  /** Expressions with a check somewhere inside. */
  private readonly checked = new WeakSet<Expr>();
  /** Intervals of integer expressions, of operands before users. */
  private readonly ranges = new WeakMap<Expr, ValueRange>();
  private readonly facts: ValueFacts = {
    of: (operand) => this.boundsOfValue(operand),
    where: (_condition, _truth, operand) => this.boundsOfValue(operand),
    ofIndex: ({ index }) => this.bounds(index),
    ofResult: ({ dtype }) => (isFloat(dtype) ? ANY_INTEGER : rangeOf(dtype)),
  };

  private internExpr(key: string, make: () => Expr): Expr {
    let found = this.exprs.get(key);
    if (found === undefined) {
      found = make();
      this.exprs.set(key, found);
      this.idOf(found);
      if (found.kind === 'check' || operands(found).some((operand) => this.checked.has(operand)))
        this.checked.add(found);
      this.ranges.set(found, valueInterval(found, this.facts));
    }
    return found;
  }

  protected override boundsOfValue(value: Expr): ValueRange {
    return this.ranges.get(value) ?? rangeOf(value.dtype);
  }

  /** An interval that contains an integer's values. */
  valueBounds(value: Expr): ValueRange {
    return this.boundsOfValue(value);
  }

  /** A constant, brought into the range of its dtype. */
  const(dtype: DType, value: number): Expr {
    const fitted = constantOf(dtype, value);
    return this.internExpr(`c${dtype}:${Object.is(fitted, -0) ? '-0' : fitted}`, () => ({
      kind: 'const',
      dtype,
      value: fitted,
    }));
  }

  load(dtype: DType, buf: string, index: IndexExpr): Expr {
    return this.internExpr(`l${buf}:${this.idOf(index)}`, () => ({
      kind: 'load',
      dtype,
      buf,
      index,
    }));
  }

  scalar(dtype: DType, name: string): Expr {
    return this.internExpr(`s${name}`, () => ({ kind: 'scalar', dtype, name }));
  }

  /** A loop index as a value. */
  index(dtype: DType, index: IndexExpr): Expr {
    if (index.kind === 'int') return this.const(dtype, index.value);
    return this.internExpr(`i${dtype}:${this.idOf(index)}`, () => ({
      kind: 'index',
      dtype,
      index,
    }));
  }

  /** A size as a value. */
  sizeValue(dtype: DType, size: Size): Expr {
    if (typeof size === 'number') return this.const(dtype, size);
    return this.cast(this.index('int32', this.size(size)), dtype);
  }

  acc(dtype: DType, id: number): Expr {
    return this.internExpr(`a${dtype}:${id}`, () => ({ kind: 'acc', dtype, id }));
  }

  /** `value` after a test of `subject`; just the value where `ok` is known to hold. */
  check(check: ValueCheck<Size>, subject: Expr, ok: Expr, value: Expr): Expr {
    if (ok.kind === 'const' && ok.value !== 0) return value;
    return this.internExpr(
      `k${checkKey(check)}:${this.idOf(subject)},${this.idOf(ok)},${this.idOf(value)}`,
      () => ({ kind: 'check', dtype: value.dtype, check, subject, ok, value }),
    );
  }

  /** `body` where `mask` holds, else `other`; loads and checks of the body do not happen elsewhere. */
  masked(mask: Expr, body: Expr, other: number): Expr {
    if (mask.kind === 'const') return mask.value !== 0 ? body : this.const(body.dtype, other);
    if (this.checked.has(body)) return this.maskedNode(mask, this.checkedWhere(mask, body), other);
    return this.maskedNode(mask, body, other);
  }

  /** `body` with checks that hold where `mask` is false, but for those that the mask itself makes. */
  private checkedWhere(mask: Expr, body: Expr): Expr {
    const made = new Set(this.checked.has(mask) ? postorder([mask]) : []);
    const outside = this.op('not', [mask]);
    const isOutside = (ok: Expr): boolean =>
      ok.kind === 'op' &&
      ok.op === 'or' &&
      ok.args.some((arg) => arg === outside || isOutside(arg));
    return this.withChecks(body, (ok, check) =>
      made.has(check) || isOutside(ok) ? ok : this.op('or', [ok, outside]),
    );
  }

  /** `body` with other conditions of its checks. */
  protected withChecks(body: Expr, check: ConditionRule): Expr {
    return this.rewrite([body], { check })[0]!;
  }

  private maskedNode(mask: Expr, body: Expr, other: number): Expr {
    if (body.kind === 'const' && Object.is(body.value, constantOf(body.dtype, other))) return body;
    if (body.kind === 'masked' && Object.is(body.other, other))
      return this.masked(this.op('and', [mask, body.mask]), body.body, other);
    return this.internExpr(
      `m${this.idOf(mask)},${this.idOf(body)},${Object.is(other, -0) ? '-0' : other}`,
      () => ({ kind: 'masked', dtype: body.dtype, mask, body, other }),
    );
  }

  random(
    dtype: DType,
    distribution: 'uniform' | 'normal',
    seed: Expr,
    offset: Expr,
    index: IndexExpr,
  ): Expr {
    return this.internExpr(
      `r${distribution}${dtype}:${this.idOf(seed)},${this.idOf(offset)},${this.idOf(index)}`,
      () => ({ kind: 'random', dtype, distribution, seed, offset, index }),
    );
  }

  /** Conversion; chains of exact conversions collapse. */
  cast(value: Expr, dtype: DType): Expr {
    return this.op('cast', [value], dtype);
  }

  /**
   * One operation; the result type follows from the operands unless given (`cast` needs it). Narrow integers that may
   * leave their range are wrapped at once, because later operations see the value that eager has in memory.
   */
  op(
    op: ScalarOp,
    args: readonly Expr[],
    dtype: DType = PREDICATES.has(op) ? 'bool' : (op === 'where' ? args[1]! : args[0]!).dtype,
  ): Expr {
    const simple = this.simplify(op, args, dtype);
    if (simple !== null) return simple;
    if (NARROW_INTEGERS.has(dtype) && OVERFLOWING_OPS.has(op))
      return this.cast(
        this.op(
          op,
          args.map((arg) => this.cast(arg, 'int32')),
        ),
        dtype,
      );
    return this.internExpr(`${op}${dtype}:${args.map((arg) => this.idOf(arg)).join(',')}`, () => ({
      kind: 'op',
      dtype,
      op,
      args,
    }));
  }

  /** Rebuilds expressions, operands first; shared parts are rebuilt once. */
  rewrite(roots: readonly Expr[], rule: Rewrite, memo: Map<Expr, Expr> = new Map()): Expr[] {
    const symbol = rule.symbol ?? ((): undefined => undefined);
    const inner = (value: Expr): Expr => memo.get(value)!;
    for (const expr of postorder(roots)) {
      if (!memo.has(expr)) memo.set(expr, this.rebuild(expr, rule, symbol, inner));
    }
    return roots.map((root) => memo.get(root)!);
  }

  private rebuild(
    expr: Expr,
    rule: Rewrite,
    symbol: (name: string) => IndexExpr | undefined,
    inner: (value: Expr) => Expr,
  ): Expr {
    switch (expr.kind) {
      case 'const':
        return this.const(expr.dtype, expr.value);
      case 'scalar':
        return this.scalar(expr.dtype, expr.name);
      case 'acc':
        return rule.acc?.(expr) ?? this.acc(expr.dtype, expr.id);
      case 'load': {
        const index = this.substituteIndex(expr.index, symbol, inner, rule.size);
        return rule.load?.(expr, index) ?? this.load(expr.dtype, expr.buf, index);
      }
      case 'index':
        return this.index(expr.dtype, this.substituteIndex(expr.index, symbol, inner, rule.size));
      case 'masked':
        return this.masked(inner(expr.mask), inner(expr.body), expr.other);
      case 'check': {
        const [subject, ok] = [inner(expr.subject), inner(expr.ok)];
        const check = rule.size === undefined ? expr.check : checkAt(expr.check, rule.size);
        return this.check(check, subject, rule.check?.(ok, expr) ?? ok, inner(expr.value));
      }
      case 'random':
        return this.random(
          expr.dtype,
          expr.distribution,
          inner(expr.seed),
          inner(expr.offset),
          this.substituteIndex(expr.index, symbol, inner, rule.size),
        );
      case 'op':
        return this.op(expr.op, operands(expr).map(inner), expr.dtype);
    }
  }

  private simplify(op: ScalarOp, args: readonly Expr[], dtype: DType): Expr | null {
    if (op === 'cast') return this.simplifyCast(args[0]!, dtype);
    if (args.every((arg) => arg.kind === 'const')) {
      const values = args.map((arg) => arg.value);
      const operand = (op === 'where' ? args[1]! : args[0]!).dtype;
      const value = evalScalar(op, dtype, operand, values[0]!, values[1] ?? 0, values[2] ?? 0);
      // A double may be another number than the int64 that code computes.
      const isExact = dtype !== 'int64' || Number.isSafeInteger(value) || values.includes(value);
      return isExact ? this.const(dtype, value) : null;
    }
    const [a, b, c] = args;
    switch (op) {
      case 'add':
        return this.foldIndex(op, args) ?? (isZero(b, 'add') ? a : isZero(a, 'add') ? b : null);
      case 'sub':
        return this.foldIndex(op, args) ?? (isZero(b, 'sub') ? a : null);
      case 'mul':
        if (isConst(b, 1)) return a;
        if (isConst(a, 1)) return b;
        return !isFloat(dtype) && (isConst(a, 0) || isConst(b, 0)) ? this.const(dtype, 0) : null;
      case 'div':
        if (isConst(b, 1)) return a;
        return b.kind === 'const' && isPowerOfTwo(b.value)
          ? this.op('mul', [a, this.const(dtype, 1 / b.value)])
          : null;
      case 'where':
        if (a.kind === 'const') return a.value !== 0 ? b : c;
        return b === c ? b : null;
      case 'and':
        if (a === b) return a;
        if (dtype !== 'bool') return null;
        if (a.kind === 'const') return a.value !== 0 ? b : a;
        return b.kind === 'const' ? (b.value !== 0 ? a : b) : null;
      case 'or':
        if (a === b) return a;
        if (dtype !== 'bool') return null;
        if (a.kind === 'const') return a.value !== 0 ? a : b;
        return b.kind === 'const' ? (b.value !== 0 ? b : a) : null;
      case 'not':
      case 'neg':
        return a.kind === 'op' && a.op === op ? a.args[0]! : null;
      case 'maximum':
      case 'minimum':
        return a === b ? a : null;
      case 'eq':
      case 'ne':
      case 'lt':
      case 'le':
      case 'gt':
      case 'ge':
      case 'within':
        return this.compareIntegers(op, a, b);
      case 'isnan':
      case 'isinf':
        return isFloat(a.dtype) ? null : this.const('bool', 0);
      default:
        return null;
    }
  }

  private simplifyCast(value: Expr, dtype: DType): Expr | null {
    if (value.dtype === dtype) return value;
    if (value.kind === 'const')
      return this.const(dtype, castScalar(value.value, value.dtype, dtype));
    if (value.kind === 'index' && (dtype === 'int32' || dtype === 'int64'))
      return this.index(dtype, value.index);
    // Widening and back: the middle type holds every value of the source.
    if (value.kind === 'op' && value.op === 'cast' && holds(value.dtype, value.args[0]!.dtype)) {
      const [source] = value.args;
      // What lies in memory is rounded already.
      const rounds = this.keepsRoundings && dtype === source!.dtype && source!.kind !== 'load';
      return rounds && isHalf(dtype) ? null : this.cast(source!, dtype);
    }
    return null;
  }

  /** Whether a 16-bit float that is widened and narrowed again is rounded there; who lowers graphs decides. */
  protected get keepsRoundings(): boolean {
    return true;
  }

  /** Arithmetic of loop indices becomes index arithmetic, which simplifies further. */
  private foldIndex(op: 'add' | 'sub', args: readonly Expr[]): Expr | null {
    const [a, b] = args;
    const isIndex = (e: Expr): boolean => e.kind === 'index' || e.kind === 'const';
    if (a.dtype !== 'int32' || !isIndex(a) || !isIndex(b) || a.kind === b.kind) return null;
    return this.index(
      a.dtype,
      op === 'add'
        ? this.add(this.value(a), this.value(b))
        : this.sub(this.value(a), this.value(b)),
    );
  }

  /** Interval of the difference of two integers; of loop indices, equal parts cancel. */
  private differenceOf(a: Expr, b: Expr): ValueRange {
    const isPlace = (e: Expr): boolean => e.kind === 'index' || e.kind === 'const';
    if (isPlace(a) && isPlace(b)) return this.bounds(this.sub(this.value(a), this.value(b)));
    return addRanges(this.boundsOfValue(a), scaleRange(this.boundsOfValue(b), -1));
  }

  /** Decides a comparison from the ranges of its operands. */
  private compareIntegers(op: Comparison, a: Expr, b: Expr): Expr | null {
    if (isFloat(a.dtype)) return null;
    const decided = decideComparison(op, this.differenceOf(a, b), this.boundsOfValue(a));
    return decided === null ? null : this.const('bool', Number(decided));
  }
}

function isConst(expr: Expr, value: number): boolean {
  return expr.kind === 'const' && expr.value === value;
}

/** Whether adding (or subtracting) the constant leaves every value, -0 included, as it is. */
function isZero(expr: Expr, op: 'add' | 'sub'): boolean {
  if (expr.kind !== 'const' || expr.value !== 0) return false;
  return !isFloat(expr.dtype) || Object.is(expr.value, op === 'add' ? -0 : 0);
}

function isPowerOfTwo(value: number): boolean {
  const exponent = Math.log2(Math.abs(value));
  return Number.isInteger(exponent) && Math.abs(exponent) < 120;
}
