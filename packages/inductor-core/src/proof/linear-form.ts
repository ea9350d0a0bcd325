/**
 * @file Integers as `constant + Σ coefficient · atom`, the form in which bounds of indices are compared.
 *
 * Made from index expressions and from integer values alike, so that a mask that speaks of a place (`i0 - 3 >= 0`)
 * and a load at that place have the same atoms. Equal atoms are the same object. Nothing is assumed of how the
 * expressions were made: a plan from a file need not be canonical.
 */
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { isFloat } from '../ir/scalar-eval.js';
import { postorder } from '../ir/walk.js';
import { type Bounds, INT32, isWithin } from '../ir/interval.js';

/** What is not taken apart further. */
export type Atom = { readonly id: number } & (
  | { readonly kind: 'sym'; readonly name: string }
  | { readonly kind: 'div' | 'mod'; readonly num: LinearForm; readonly den: number }
  | { readonly kind: 'product'; readonly factors: readonly LinearForm[] }
  | { readonly kind: 'value'; readonly value: Expr }
  /** A division by something that is not known to be a positive constant. */
  | { readonly kind: 'unknown' }
);

/** See the file header. */
export interface LinearForm {
  readonly constant: number;
  readonly terms: ReadonlyMap<Atom, number>;
}

/** Sums of more terms are one atom: they are no places, and long chains of them would take quadratic time. */
const MOST_TERMS = 32;

type NewAtom = Atom extends infer A ? (A extends { id: number } ? Omit<A, 'id'> : never) : never;

/** `a + factor · b`. */
export function plus(a: LinearForm, b: LinearForm, factor = 1): LinearForm {
  const terms = new Map(a.terms);
  for (const [atom, coefficient] of b.terms) {
    const total = (terms.get(atom) ?? 0) + factor * coefficient;
    if (total === 0) terms.delete(atom);
    else terms.set(atom, total);
  }
  return { constant: a.constant + factor * b.constant, terms };
}

/** A text that equal forms share; `constant` may be left out. */
export function formKey({ constant, terms }: LinearForm, withConstant = true): string {
  const parts = [...terms].sort(([a], [b]) => a.id - b.id).map(([{ id }, c]) => `${c}#${id}`);
  return withConstant ? `${constant}+${parts.join('+')}` : parts.join('+');
}

/** A sum without its constant, turned so that its first coefficient is positive, and a text that equal ones share. */
export function directionOf(form: LinearForm): {
  readonly key: string;
  readonly sign: 1 | -1;
  readonly direction: LinearForm;
} {
  const first = [...form.terms].reduce((a, b) => (a[0].id <= b[0].id ? a : b));
  const sign = first[1] < 0 ? -1 : 1;
  const direction = plus({ constant: 0, terms: new Map() }, { ...form, constant: 0 }, sign);
  return { key: formKey(direction, false), sign, direction };
}

/** See the file header. One serves one kernel; `boundsOf` gives bounds that hold everywhere in it. */
export class LinearForms {
  private readonly atoms = new Map<string, Atom>();
  private readonly ofIndices = new Map<IndexExpr, LinearForm>();
  private readonly ofValues = new Map<Expr, LinearForm>();
  private readonly valueIds = new Map<Expr, number>();

  constructor(
    private readonly boundsOf: (form: LinearForm) => Bounds,
    private readonly boundsOfValue: (value: Expr) => Bounds,
  ) {}

  ofIndex(index: IndexExpr): LinearForm {
    let form = this.ofIndices.get(index);
    if (form === undefined) this.ofIndices.set(index, (form = this.readIndex(index)));
    return form;
  }

  /** The form of an integer value; operands first, as expressions may be deep. */
  ofValue(root: Expr): LinearForm {
    const known = this.ofValues.get(root);
    if (known !== undefined) return known;
    for (const value of postorder([root]))
      if (!this.ofValues.has(value)) this.ofValues.set(value, this.readValue(value));
    return this.ofValues.get(root)!;
  }

  private constant(constant: number): LinearForm {
    return { constant, terms: new Map() };
  }

  private atom(key: string, made: NewAtom): LinearForm {
    let atom = this.atoms.get(key);
    if (atom === undefined)
      this.atoms.set(key, (atom = { ...made, id: this.atoms.size } as unknown as Atom));
    return { constant: 0, terms: new Map([[atom, 1]]) };
  }

  private valueAtom(value: Expr): LinearForm {
    let id = this.valueIds.get(value);
    if (id === undefined) this.valueIds.set(value, (id = this.valueIds.size));
    return this.atom(`@${id}`, { kind: 'value', value });
  }

  private readIndex(index: IndexExpr): LinearForm {
    switch (index.kind) {
      case 'int':
        return this.constant(index.value);
      case 'size':
        return this.atom(`?${this.atoms.size}`, { kind: 'unknown' });
      case 'sym':
        return this.atom(`$${index.name}`, { kind: 'sym', name: index.name });
      case 'add':
        return this.sum(index.terms.map((term) => this.ofIndex(term)));
      case 'mul':
        return this.productOf(index.factors.map((factor) => this.ofIndex(factor)));
      case 'value': {
        // Kernels compute indices in 32 bits: a value that may not fit is some other number there.
        const { value } = index;
        const form = this.ofValue(value);
        return isWithin(this.boundsOf(form), INT32) ? form : this.valueAtom(value);
      }
      case 'div':
      case 'mod': {
        const [num, den] = [this.ofIndex(index.num), this.ofIndex(index.den)];
        const by = den.terms.size === 0 ? den.constant : 0;
        if (by < 1 || by > INT32.max) return this.atom(`?${this.atoms.size}`, { kind: 'unknown' });
        if (by === 1) return index.kind === 'div' ? num : this.constant(0);
        const key = `${index.kind}${by}:${formKey(num)}`;
        return this.atom(key, { kind: index.kind, num, den: by });
      }
    }
  }

  private sum(forms: readonly LinearForm[]): LinearForm {
    const terms = new Map<Atom, number>();
    let constant = 0;
    for (const form of forms) {
      constant += form.constant;
      for (const [atom, coefficient] of form.terms)
        terms.set(atom, (terms.get(atom) ?? 0) + coefficient);
    }
    for (const [atom, coefficient] of terms) if (coefficient === 0) terms.delete(atom);
    return { constant, terms };
  }

  private productOf(forms: readonly LinearForm[]): LinearForm {
    let factor = 1;
    const rest: LinearForm[] = [];
    for (const form of forms) {
      if (form.terms.size === 0) factor *= form.constant;
      else rest.push(form);
    }
    if (factor === 0 || rest.length === 0) return this.constant(factor);
    const whole =
      rest.length === 1
        ? rest[0]!
        : this.atom(
            `*${rest
              .map((form) => formKey(form))
              .sort()
              .join('*')}`,
            {
              kind: 'product',
              factors: rest,
            },
          );
    return plus(this.constant(0), whole, factor);
  }

  /** What arithmetic does not change as long as nothing wraps around; everything else is an atom. */
  private readValue(value: Expr): LinearForm {
    const form = isFloat(value.dtype) ? null : this.arithmetic(value);
    if (form === null || form.terms.size > MOST_TERMS) return this.valueAtom(value);
    return isWithin(this.boundsOf(form), INT32) && value.dtype !== 'bool'
      ? form
      : this.valueAtom(value);
  }

  private arithmetic(value: Expr): LinearForm | null {
    if (value.kind === 'const') return this.constant(value.value);
    if (value.kind === 'index') return this.ofIndex(value.index);
    if (value.kind !== 'op' || value.args.some((arg) => isFloat(arg.dtype))) return null;
    const { op, args, dtype } = value;
    const forms = args.map((arg) => this.ofValues.get(arg)!);
    const [a, b] = forms as [LinearForm, LinearForm];
    const fits = isWithin(this.boundsOfValue(value), INT32);
    switch (op) {
      case 'add':
        return fits ? plus(a, b) : null;
      case 'sub':
        return fits ? plus(a, b, -1) : null;
      case 'neg':
        return fits ? plus(this.constant(0), a, -1) : null;
      case 'mul':
        return fits && (a.terms.size === 0 || b.terms.size === 0) ? this.productOf(forms) : null;
      case 'cast':
        // A cast that keeps every value that the operand can have.
        return (dtype === 'int32' || dtype === 'int64') &&
          isWithin(this.boundsOfValue(args[0]!), INT32)
          ? a
          : null;
      default:
        return null;
    }
  }
}
