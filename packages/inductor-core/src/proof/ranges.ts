/**
 * @file What indices and values of a kernel may be where certain conditions hold.
 *
 * Loops bound their variables; a condition bounds a sum of atoms (facts.ts). A sum is bounded by its atoms' own
 * intervals, and by taking whole multiples of conditions out of it first: 28·(2·i + k - 3) + … with 0 <= 2·i + k - 3
 * < 28 is bounded by the condition although i and k apart are not.
 */
import type { Expr } from '../ir/expr.js';
import { postorder } from '../ir/walk.js';
import { isFloat } from '../ir/scalar-eval.js';
import { type Constraint, Facts, type Literal } from './facts.js';
import {
  type Bounds,
  INT32,
  UNKNOWN,
  exact,
  intersection,
  product,
  scaledSum,
} from '../ir/interval.js';
import { type Atom, type LinearForm, LinearForms, plus } from './linear-form.js';
import { type ValueFacts, valueInterval } from '../ir/value-interval.js';

/** What bounds a kernel's variables and results. */
export interface KernelRanges {
  /** Trip count of a loop variable. */
  readonly sizeOf: (name: string) => number | undefined;
  readonly ofResult: (expr: Extract<Expr, { kind: 'acc' }>) => Bounds;
}

/** Ways of taking conditions out of one sum that are tried. */
const MOST_TRIES = 256;
const MOST_STEPS = 1_000_000;
/** Conditions within conditions that are followed. */
const MOST_NESTED = 6;

/** See the file header. */
export class Ranges {
  readonly forms: LinearForms;
  readonly facts: Facts;
  private readonly values = new Map<Expr, Bounds>();
  private readonly atoms = new Map<Atom, Bounds>();
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
    this.forms =
      base?.forms ??
      new LinearForms(
        (form) => this.ofForm(form),
        (value) => this.ofValue(value),
      );
    this.facts = new Facts(this.forms, literals);
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

  /** Bounds of a sum. */
  ofForm(form: LinearForm): Bounds {
    const constraints = this.facts.isEmpty ? [] : this.facts.about(form);
    return constraints.length === 0
      ? this.boxed(form)
      : this.reduced(form, constraints, 0, { left: MOST_TRIES });
  }

  /** The best of the interval of the atoms and those after taking conditions `from` and later out. */
  private reduced(
    form: LinearForm,
    constraints: readonly Constraint[],
    from: number,
    tries: { left: number },
  ): Bounds {
    let best = this.boxed(form);
    for (let i = from; i < constraints.length && tries.left > 0; i++) {
      const { form: known, bounds } = constraints[i]!;
      const factors = new Set<number>();
      for (const [atom, coefficient] of known.terms) {
        const factor = (form.terms.get(atom) ?? 0) / coefficient;
        if (factor !== 0 && Number.isInteger(factor)) factors.add(factor);
      }
      for (const factor of factors) {
        tries.left--;
        const rest = this.reduced(plus(form, known, -factor), constraints, i + 1, tries);
        best = intersection(best, scaledSum(bounds, factor, rest));
      }
    }
    return best;
  }

  /** Bounds from those of the atoms alone. */
  private boxed(form: LinearForm): Bounds {
    let sum: Bounds = { min: form.constant, max: form.constant };
    for (const [atom, coefficient] of form.terms)
      sum = scaledSum(this.ofAtom(atom), coefficient, sum);
    return sum;
  }

  private ofAtom(atom: Atom): Bounds {
    let found = this.atoms.get(atom);
    if (found === undefined) {
      // A condition may relate an atom to its own parts: until it is known, its bounds without conditions are.
      const wide = this.base === null ? UNKNOWN : this.base.ofAtom(atom);
      this.atoms.set(atom, (found = intersection(wide, this.facts.ofAtom(atom))));
      found = intersection(found, this.computeAtom(atom));
      for (const constraint of this.facts.aboutAtom(atom))
        found = intersection(found, this.leftFor(atom, constraint));
      this.atoms.set(atom, found);
    }
    return found;
  }

  /** What a condition on a sum leaves for one of its atoms, whatever the others are. */
  private leftFor(atom: Atom, { form, bounds }: Constraint): Bounds {
    const coefficient = form.terms.get(atom)!;
    const others = new Map(form.terms);
    others.delete(atom);
    const rest = this.unconditional.boxed({ constant: 0, terms: others });
    const left = scaledSum(rest, -1, bounds);
    const ends = [left.min / coefficient, left.max / coefficient];
    return exact({ min: Math.ceil(Math.min(...ends)), max: Math.floor(Math.max(...ends)) });
  }

  private computeAtom(atom: Atom): Bounds {
    switch (atom.kind) {
      case 'sym': {
        const size = this.kernel.sizeOf(atom.name);
        return size === undefined ? UNKNOWN : { min: 0, max: Math.max(size - 1, 0) };
      }
      case 'div':
      case 'mod': {
        // Kernels divide unsigned numbers: of a negative one something else comes out.
        const num = this.ofForm(atom.num);
        if (num.min < 0 || num.max > INT32.max) return UNKNOWN;
        const by = atom.den;
        return atom.kind === 'div'
          ? { min: Math.floor(num.min / by), max: Math.floor(num.max / by) }
          : num.max < by
            ? num
            : { min: 0, max: by - 1 };
      }
      case 'product':
        return atom.factors.map((factor) => this.ofForm(factor)).reduce(product);
      case 'value':
        return this.ofValue(atom.value);
      case 'unknown':
        return UNKNOWN;
    }
  }

  /** Bounds of an integer value, whose operands are looked at first as expressions may be deep. */
  ofValue(root: Expr): Bounds {
    const known = this.values.get(root);
    if (known !== undefined) return known;
    for (const expr of postorder([root])) {
      this.unconditional.steps.left--;
      if (this.values.has(expr)) continue;
      const facts: ValueFacts = {
        of: (operand) => this.values.get(operand)!,
        where: (condition, truth, operand) => this.where(condition, truth, operand),
        ofIndex: ({ index }) => this.ofForm(this.forms.ofIndex(index)),
        ofResult: this.kernel.ofResult,
      };
      const found = valueInterval(expr, facts);
      // Before the conditions are asked: a sum may be made of this value alone.
      this.values.set(expr, found);
      if (!this.facts.isEmpty && !isFloat(expr.dtype))
        this.values.set(expr, intersection(found, this.ofForm(this.forms.ofValue(expr))));
    }
    return this.values.get(root)!;
  }

  /** Bounds of an operand where a condition holds as well. */
  private where(condition: Expr, truth: boolean, operand: Expr): Bounds {
    const known = this.values.get(operand)!;
    const { steps } = this.unconditional;
    if (operand.kind === 'const' || this.depth >= MOST_NESTED || steps.left <= 0) return known;
    const inside = this.assuming([{ condition, truth }]);
    if (inside.isImpossible) return { min: Infinity, max: -Infinity };
    return intersection(known, inside.ofValue(operand));
  }
}
