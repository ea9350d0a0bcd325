/**
 * @file What indices and values of a kernel may be where certain conditions hold.
 *
 * Loops bound their variables; a condition bounds a sum of parts (facts.ts). A sum is bounded by its parts' own
 * intervals, and by taking whole multiples of conditions out of it first: 28·(2·i + k - 3) + … with 0 <= 2·i + k - 3
 * < 28 is bounded by the condition although i and k apart are not. `6·r + x div 2` is bounded by a condition on
 * `12·r + x`, which is about twice the sum.
 */
import {
  ANY_INTEGER,
  type ValueRange,
  addRanges,
  exactly,
  intersectRanges,
  liesWithin,
  multiplyRanges,
  scaleRange,
} from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import { divided, divisorOf } from '../ir/index-bounds.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { postorder } from '../ir/walk.js';
import { isFloat } from '../ir/scalar-eval.js';
import { type ValueFacts, valueInterval } from '../ir/value-interval.js';
import { type Constraint, Facts, type Literal } from './facts.js';
import { KernelIndices, LARGEST, type NumberForm, UNSIGNED, plus } from './kernel-indices.js';

/** What bounds a kernel's variables and results. */
export interface KernelRanges {
  /** Trip count of a loop variable. */
  readonly sizeOf: (name: string) => number | undefined;
  readonly ofResult: (expr: Extract<Expr, { kind: 'acc' }>) => ValueRange;
}

/** Multiples of one sum that are looked at. */
const MOST_MULTIPLES = 8;
const NOTHING: NumberForm = { constant: 0, terms: new Map() };
/** Ways of taking conditions out of one sum that are tried. */
const MOST_TRIES = 256;
const MOST_STEPS = 1_000_000;
/** Conditions within conditions that are followed. */
const MOST_NESTED = 6;

/** See the file header. */
export class Ranges {
  readonly indices: KernelIndices;
  readonly facts: Facts;
  private readonly values = new Map<Expr, ValueRange>();
  private readonly parts = new Map<IndexExpr, ValueRange>();
  private readonly under = new Map<string, Ranges>();
  private readonly ids = new Map<Expr, number>();
  /** Expressions that may still be looked at for choices; then choices are taken to have both their sides' values. */
  private readonly steps = { left: MOST_STEPS };

  constructor(
    private readonly kernel: KernelRanges,
    private readonly base: Ranges | null = null,
    literals: readonly Literal[] = [],
    private readonly depth: number = 0,
  ) {
    this.indices =
      base?.indices ??
      new KernelIndices({ sizeOf: kernel.sizeOf, ofValue: (value) => this.ofValue(value) });
    this.facts = new Facts(this.indices, literals);
  }

  /** Bounds where nothing is assumed. */
  private get unconditional(): Ranges {
    return this.base ?? this;
  }

  /** The same kernel where further conditions hold. */
  assuming(literals: readonly Literal[]): Ranges {
    const all = [...this.facts.literals, ...literals];
    const key = all.map(
      (literal) => `${this.unconditional.idOf(literal.condition)}${literal.truth}`,
    );
    const known = [...new Set(key)].sort().join();
    const { under } = this.unconditional;
    let found = under.get(known);
    if (found === undefined)
      under.set(known, (found = new Ranges(this.kernel, this.unconditional, all, this.depth + 1)));
    return found;
  }

  private idOf(expr: Expr): number {
    let id = this.ids.get(expr);
    if (id === undefined) this.ids.set(expr, (id = this.ids.size));
    return id;
  }

  /** Whether the conditions contradict each other: then nothing happens under them. */
  get isImpossible(): boolean {
    return this.facts.isContradiction;
  }

  /** Bounds of a sum: its own and those of its multiples, which conditions may speak of. */
  ofForm(form: NumberForm): ValueRange {
    let best = this.constrained(form);
    if (this.facts.isEmpty) return best;
    for (const times of this.multiplesOf(form)) {
      const { lo, hi } = this.constrained(this.multiple(form, times));
      best = intersectRanges(best, { lo: Math.ceil(lo / times), hi: Math.floor(hi / times) });
    }
    return best;
  }

  /** What a sum is multiplied with to have whole multiples of conditions or of what is divided in it. */
  private multiplesOf(form: NumberForm): number[] {
    const found = new Set<number>();
    for (const [part, coefficient] of form.terms) {
      if (part.kind === 'div') found.add(divisorOf(part.den) as number);
      for (const known of this.facts.aboutPart(part)) {
        const factor = Math.abs(known.form.terms.get(part)! / coefficient);
        if (factor > 1 && Number.isInteger(factor)) found.add(factor);
      }
    }
    const largest = Math.max(Math.abs(form.constant), ...[...form.terms.values()].map(Math.abs));
    return [...found].filter((times) => times * largest <= LARGEST).slice(0, MOST_MULTIPLES);
  }

  /** A multiple of a sum. That of a quotient is what is divided, less the remainder. */
  private multiple(form: NumberForm, times: number): NumberForm {
    const { indices } = this;
    let whole = plus(NOTHING, form, times);
    for (const [part, coefficient] of whole.terms) {
      if (part.kind !== 'div') continue;
      const by = divisorOf(part.den) as number;
      if (coefficient % by !== 0) continue;
      const rest = indices.form(indices.mod(part.num, by));
      whole = plus(whole, indices.form(part), -coefficient);
      whole = plus(whole, plus(indices.form(part.num), rest, -1), coefficient / by);
    }
    return whole;
  }

  private constrained(form: NumberForm): ValueRange {
    const constraints = this.facts.isEmpty ? [] : this.facts.about(form);
    return constraints.length === 0
      ? this.boxed(form)
      : this.reduced(form, constraints, 0, { left: MOST_TRIES });
  }

  /** The best of the interval of the parts and those after taking conditions `from` and later out. */
  private reduced(
    form: NumberForm,
    constraints: readonly Constraint[],
    from: number,
    tries: { left: number },
  ): ValueRange {
    let best = this.boxed(form);
    for (let i = from; i < constraints.length && tries.left > 0; i++) {
      const { form: known, bounds } = constraints[i]!;
      const factors = new Set<number>();
      for (const [part, coefficient] of known.terms) {
        const factor = (form.terms.get(part) ?? 0) / coefficient;
        if (factor !== 0 && Number.isInteger(factor)) factors.add(factor);
      }
      for (const factor of factors) {
        tries.left--;
        const rest = this.reduced(plus(form, known, -factor), constraints, i + 1, tries);
        best = intersectRanges(best, addRanges(rest, scaleRange(bounds, factor)));
      }
    }
    return best;
  }

  /** Bounds from those of the parts alone. */
  private boxed({ constant, terms }: NumberForm): ValueRange {
    let sum = exactly(constant);
    for (const [part, coefficient] of terms)
      sum = addRanges(sum, scaleRange(this.ofPart(part), coefficient));
    return sum;
  }

  private ofPart(part: IndexExpr): ValueRange {
    if (this.base === null) return this.indices.bounds(part);
    let found = this.parts.get(part);
    if (found === undefined) {
      // A condition may relate a part to what it is made of: until it is known, its bounds without conditions are.
      found = intersectRanges(this.base.ofPart(part), this.facts.ofPart(part));
      this.parts.set(part, found);
      found = intersectRanges(found, this.computePart(part));
      for (const constraint of this.facts.aboutPart(part))
        found = intersectRanges(found, this.leftFor(part, constraint));
      this.parts.set(part, found);
    }
    return found;
  }

  /** What a condition on a sum leaves for one of its parts, whatever the others are. */
  private leftFor(part: IndexExpr, { form, bounds }: Constraint): ValueRange {
    const coefficient = form.terms.get(part)!;
    const others = new Map(form.terms);
    others.delete(part);
    const rest = this.unconditional.boxed({ constant: 0, terms: others });
    const left = addRanges(bounds, scaleRange(rest, -1));
    const ends = [left.lo / coefficient, left.hi / coefficient];
    return { lo: Math.ceil(Math.min(...ends)), hi: Math.floor(Math.max(...ends)) };
  }

  /** What the conditions leave for what a part is made of. */
  private computePart(part: IndexExpr): ValueRange {
    const of = (index: IndexExpr): ValueRange => this.ofForm(this.indices.form(index));
    const open = this.indices.openDivision(part);
    if (open !== undefined) {
      const num = this.ofForm(open.num);
      return liesWithin(num, UNSIGNED) ? divided(open.kind, num, open.by) : ANY_INTEGER;
    }
    switch (part.kind) {
      case 'div':
      case 'mod':
        return divided(part.kind, of(part.num), divisorOf(part.den) as number);
      case 'mul':
        return part.factors.map(of).reduce(multiplyRanges);
      case 'value':
        return this.ofValue(part.value);
      default:
        return ANY_INTEGER;
    }
  }

  /** Bounds of an integer value, whose operands are looked at first as expressions may be deep. */
  ofValue(root: Expr): ValueRange {
    const known = this.values.get(root);
    if (known !== undefined) return known;
    for (const expr of postorder([root])) {
      this.unconditional.steps.left--;
      if (this.values.has(expr)) continue;
      const facts: ValueFacts = {
        of: (operand) => this.values.get(operand)!,
        where: (condition, truth, operand) => this.where(condition, truth, operand),
        ofIndex: ({ index }) => this.ofForm(this.indices.ofIndex(index)),
        ofResult: this.kernel.ofResult,
      };
      const found = valueInterval(expr, facts);
      // Before the conditions are asked: a sum may be made of this value alone.
      this.values.set(expr, found);
      if (!this.facts.isEmpty && !isFloat(expr.dtype))
        this.values.set(expr, intersectRanges(found, this.ofForm(this.indices.ofValue(expr))));
    }
    return this.values.get(root)!;
  }

  /** Bounds of an operand where a condition holds as well. */
  private where(condition: Expr, truth: boolean, operand: Expr): ValueRange {
    const known = this.values.get(operand)!;
    const { steps } = this.unconditional;
    if (operand.kind === 'const' || this.depth >= MOST_NESTED || steps.left <= 0) return known;
    const inside = this.assuming([{ condition, truth }]);
    if (inside.isImpossible) return { lo: Infinity, hi: -Infinity };
    return intersectRanges(known, inside.ofValue(operand));
  }
}
