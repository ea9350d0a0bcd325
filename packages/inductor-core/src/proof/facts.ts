/**
 * @file What a set of conditions says about sums of atoms.
 *
 * Comparisons of integers become `min <= Σ coefficient · atom <= max`. Conditions that say nothing of the kind are
 * left out: knowing less is safe.
 */
import type { Expr } from '../ir/expr.js';
import { isFloat } from '../ir/scalar-eval.js';
import { type Bounds, UNKNOWN, intersection, isWithin } from '../ir/interval.js';
import { type Atom, type LinearForm, type LinearForms, directionOf, plus } from './linear-form.js';

/** A condition that holds, or that does not. */
export interface Literal {
  readonly condition: Expr;
  readonly truth: boolean;
}

/** Bounds of a sum of two or more atoms, without its constant. */
export interface Constraint {
  readonly form: LinearForm;
  readonly bounds: Bounds;
}

const BELOW: Bounds = { min: -Infinity, max: -1 };
const UP_TO: Bounds = { min: -Infinity, max: 0 };
const FROM: Bounds = { min: 0, max: Infinity };
const ABOVE: Bounds = { min: 1, max: Infinity };

/** Where the difference of the operands lies if the comparison holds, and if not. */
const DIFFERENCES: Readonly<Record<string, readonly [holds: Bounds, fails: Bounds]>> = {
  lt: [BELOW, FROM],
  le: [UP_TO, ABOVE],
  gt: [ABOVE, UP_TO],
  ge: [FROM, BELOW],
  eq: [{ min: 0, max: 0 }, UNKNOWN],
  ne: [UNKNOWN, { min: 0, max: 0 }],
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
  /** Bounds of single atoms. */
  private readonly singles = new Map<Atom, Bounds>();
  private readonly sums = new Map<string, Constraint>();
  private readonly held = new Map<Expr, boolean>();
  private contradiction = false;

  constructor(
    private readonly forms: LinearForms,
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

  /** Conditions on sums that share an atom with a sum. */
  about(form: LinearForm): Constraint[] {
    return [...this.sums.values()].filter((constraint) =>
      [...constraint.form.terms.keys()].some((atom) => form.terms.has(atom)),
    );
  }

  /** Conditions on sums with an atom. */
  aboutAtom(atom: Atom): Constraint[] {
    return [...this.sums.values()].filter(({ form }) => form.terms.has(atom));
  }

  /** What is known of an atom besides its own bounds. */
  ofAtom(atom: Atom): Bounds {
    return this.singles.get(atom) ?? UNKNOWN;
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
      const [value, end] = condition.args as [Expr, Expr];
      if (truth && end.kind === 'const')
        this.constrain(this.forms.ofValue(value), { min: 0, max: end.value - 1 });
      return;
    }
    const differences = DIFFERENCES[condition.op];
    if (differences === undefined || condition.args.some((arg) => isFloat(arg.dtype))) return;
    const [a, b] = condition.args.map((arg) => this.forms.ofValue(arg)) as [LinearForm, LinearForm];
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

  private constrain(form: LinearForm, bounds: Bounds): void {
    const { constant, terms } = form;
    if (terms.size === 0) {
      if (!isWithin({ min: constant, max: constant }, bounds)) this.contradiction = true;
      return;
    }
    const { key, sign, direction } = directionOf(form);
    const shifted = { min: bounds.min - constant, max: bounds.max - constant };
    const wanted = sign === 1 ? shifted : { min: -shifted.max, max: -shifted.min };
    const [atom, coefficient] = [...direction.terms][0]!;
    let found: Bounds;
    if (terms.size === 1) {
      const whole = {
        min: Math.ceil(wanted.min / coefficient),
        max: Math.floor(wanted.max / coefficient),
      };
      found = intersection(this.ofAtom(atom), whole);
      this.singles.set(atom, found);
    } else {
      found = intersection(this.sums.get(key)?.bounds ?? UNKNOWN, wanted);
      this.sums.set(key, { form: direction, bounds: found });
    }
    if (found.min > found.max) this.contradiction = true;
  }
}
