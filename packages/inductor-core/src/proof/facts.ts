/**
 * @file What a set of conditions says about sums of parts.
 *
 * Comparisons of integers become `lo <= Σ coefficient · part <= hi`. Conditions that say nothing of the kind are
 * left out: knowing less is safe.
 */
import {
  ANY_INTEGER,
  type ValueRange,
  addRanges,
  exactly,
  intersectRanges,
  liesWithin,
  modNumbers,
  scaleRange,
} from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import { divisorOf } from '../ir/index-bounds.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { isFloat } from '../ir/scalar-eval.js';
import { type KernelIndices, type NumberForm, plus } from './kernel-indices.js';

/** A condition that holds, or that does not. */
export interface Literal {
  readonly condition: Expr;
  readonly truth: boolean;
}

/** Bounds of a sum of two or more parts, without its constant. */
export interface Constraint {
  readonly form: NumberForm;
  readonly bounds: ValueRange;
}

const BELOW: ValueRange = { lo: -Infinity, hi: -1 };
const UP_TO: ValueRange = { lo: -Infinity, hi: 0 };
const FROM: ValueRange = { lo: 0, hi: Infinity };
const ABOVE: ValueRange = { lo: 1, hi: Infinity };

/** Where the difference of the operands lies if the comparison holds, and if not. */
const DIFFERENCES: Readonly<Record<string, readonly [holds: ValueRange, fails: ValueRange]>> = {
  lt: [BELOW, FROM],
  le: [UP_TO, ABOVE],
  gt: [ABOVE, UP_TO],
  ge: [FROM, BELOW],
  eq: [exactly(0), ANY_INTEGER],
  ne: [ANY_INTEGER, exactly(0)],
};

/** The conditions of which a condition is the conjunction. */
export function conjuncts(literal: Literal): Literal[] {
  const found: Literal[] = [];
  const stack = [literal];
  while (stack.length > 0) {
    const { condition, truth } = stack.pop()!;
    const isJunction =
      condition.kind === 'op' &&
      condition.dtype === 'bool' &&
      condition.op === (truth ? 'and' : 'or');
    if (isJunction) for (const arg of condition.args) stack.push({ condition: arg, truth });
    else if (condition.kind === 'op' && condition.op === 'not' && isBit(condition.args[0]!))
      stack.push({ condition: condition.args[0]!, truth: !truth });
    else found.push({ condition, truth });
  }
  return found;
}

/** Whether a bool is 0 or 1: one that memory holds may be another byte, whose complement is not its negation. */
function isBit(root: Expr): boolean {
  const stack = [root];
  for (let steps = 0; stack.length > 0; steps++) {
    const expr = stack.pop()!;
    if (expr.dtype !== 'bool' || expr.kind !== 'op' || steps > 64) return false;
    if (expr.op === 'and' || expr.op === 'or' || expr.op === 'not') stack.push(...expr.args);
    else if (
      expr.op !== 'cast' &&
      expr.op !== 'within' &&
      !(expr.op in DIFFERENCES) &&
      !expr.op.startsWith('is')
    )
      return false;
  }
  return true;
}

/** See the file header. */
export class Facts {
  /** Bounds of single parts. */
  private readonly singles = new Map<IndexExpr, ValueRange>();
  private readonly sums = new Map<IndexExpr, Constraint>();
  private readonly held = new Map<Expr, boolean>();
  private contradiction = false;

  constructor(
    private readonly indices: KernelIndices,
    readonly literals: readonly Literal[],
  ) {
    const all = literals.flatMap(conjuncts);
    for (const { condition, truth } of all) {
      if (this.held.get(condition) === !truth) this.contradiction = true;
      this.held.set(condition, truth);
    }
    for (const literal of all) this.learn(literal);
  }

  /** Whether no values satisfy the conditions, as far as is seen. */
  get isContradiction(): boolean {
    return this.contradiction;
  }

  get isEmpty(): boolean {
    return this.singles.size === 0 && this.sums.size === 0;
  }

  /** Conditions on sums that share a part with a sum. */
  about(form: NumberForm): Constraint[] {
    return [...this.sums.values()].filter((constraint) =>
      [...constraint.form.terms.keys()].some((part) => form.terms.has(part)),
    );
  }

  /** Conditions on sums with a part. */
  aboutPart(part: IndexExpr): Constraint[] {
    return [...this.sums.values()].filter(({ form }) => form.terms.has(part));
  }

  /** What is known of a part besides its own bounds. */
  ofPart(part: IndexExpr): ValueRange {
    return this.singles.get(part) ?? ANY_INTEGER;
  }

  private learn({ condition, truth }: Literal): void {
    if (condition.kind === 'const') {
      if ((condition.value !== 0) !== truth) this.contradiction = true;
      return;
    }
    if (condition.kind !== 'op') return;
    if (condition.op === 'or' && truth) {
      // One of them holds; if all but one are known to fail, that one.
      const open = condition.args.filter((arg) => !this.isRefuted(arg));
      if (open.length === 0) this.contradiction = true;
      if (open.length === 1)
        for (const literal of conjuncts({ condition: open[0]!, truth })) this.learn(literal);
      return;
    }
    if (condition.op === 'within') {
      const [value, end] = condition.args;
      if (truth && end.kind === 'const')
        this.constrain(this.indices.ofValue(value), { lo: 0, hi: end.value - 1 });
      return;
    }
    const differences = DIFFERENCES[condition.op];
    if (differences === undefined || condition.args.some((arg) => isFloat(arg.dtype))) return;
    const [a, b] = condition.args.map((arg) => this.indices.ofValue(arg));
    this.constrain(plus(a, b, -1), differences[truth ? 0 : 1]);
  }

  private isRefuted(condition: Expr): boolean {
    if (this.held.get(condition) === false) return true;
    return (
      condition.kind === 'op' &&
      condition.op === 'not' &&
      isBit(condition.args[0]!) &&
      this.isImplied(condition.args[0]!)
    );
  }

  private isImplied(condition: Expr): boolean {
    return conjuncts({ condition, truth: true }).every(
      (part) => this.held.get(part.condition) === part.truth,
    );
  }

  private constrain(form: NumberForm, bounds: ValueRange): void {
    const { constant, terms } = form;
    if (terms.size === 0) {
      if (!liesWithin(exactly(constant), bounds)) this.contradiction = true;
      return;
    }
    const { indices } = this;
    // Sums that are multiples of each other by -1 are turned into one.
    const [part, coefficient] = [...terms].reduce((a, b) =>
      indices.idOf(a[0]) <= indices.idOf(b[0]) ? a : b,
    );
    const sign = coefficient < 0 ? -1 : 1;
    const wanted = scaleRange(addRanges(bounds, exactly(-constant)), sign);
    let found: ValueRange;
    if (terms.size === 1) {
      const factor = Math.abs(coefficient);
      const whole = { lo: Math.ceil(wanted.lo / factor), hi: Math.floor(wanted.hi / factor) };
      found = intersectRanges(this.ofPart(part), whole);
      this.singles.set(part, found);
      if (part.kind === 'mod' && found.lo === found.hi) this.learnMultiple(part, found.lo);
    } else {
      const sum = indices.scale(indices.sum({ constant: 0, terms }), sign);
      found = intersectRanges(this.sums.get(sum)?.bounds ?? ANY_INTEGER, wanted);
      this.sums.set(sum, { form: indices.form(sum), bounds: found });
    }
    if (found.lo > found.hi) this.contradiction = true;
  }

  /** What is divided leaves `rest`: its ends are the outermost numbers that do. */
  private learnMultiple({ num, den }: Extract<IndexExpr, { kind: 'mod' }>, rest: number): void {
    const divisor = divisorOf(den);
    if (typeof divisor !== 'number') return;
    const form = this.indices.form(num);
    let { lo, hi } = exactly(form.constant);
    for (const [part, coefficient] of form.terms) {
      const bounds = scaleRange(this.indices.bounds(part), coefficient);
      lo += bounds.lo;
      hi += bounds.hi;
    }
    if (!Number.isFinite(hi - lo)) return;
    this.constrain(form, {
      lo: lo + modNumbers(rest - lo, divisor),
      hi: hi - modNumbers(hi - rest, divisor),
    });
  }
}
