/**
 * @file `LoopSpace`: the loop variables of a kernel, as the code generator iterates over them.
 *
 * Two changes are made without touching the kernel's expressions. *Merging*: neighbouring variables
 * `a`, `b` that every index uses as `a·size(b) + b` become one variable: `a` is fixed at 0 and `b` runs
 * over both. *Splitting*: a variable that indices use as `v div d` and `v mod d` is replaced by its
 * digits, so that those become plain variables. `affine` reads an index in terms of the result; loop
 * code and addresses are made from affine forms only.
 */
import {
  type Size,
  TesseraError,
  sizeAdd,
  sizeFloorDiv,
  sizeHint,
  sizeKnown,
  sizeMul,
} from '@tessera/shared';
import type { Expr, IndexExpr, SizedLoop } from '@tessera/inductor-core';

/** `constant + Σ terms[v] · v + Σ coefficient · atom`, units as the index has. */
export interface Affine {
  readonly constant: Size;
  readonly terms: ReadonlyMap<string, Size>;
  readonly atoms: readonly AffineAtom[];
}

/** A part of an index that is no multiple of a loop variable. */
export type AffineAtom =
  | {
      readonly kind: 'div' | 'mod';
      readonly num: Affine;
      readonly den: Size;
      readonly coefficient: Size;
      readonly key: string;
    }
  | {
      readonly kind: 'value';
      readonly value: Expr;
      readonly coefficient: Size;
      readonly key: string;
    }
  | {
      readonly kind: 'product';
      readonly factors: readonly Affine[];
      readonly coefficient: Size;
      readonly key: string;
    };

/** A variable written as its digits, highest first: `v = Σ digit.unit · digit.name`. */
interface Digit {
  readonly name: string;
  readonly unit: Size;
  readonly size: Size;
}

/** Affine form of a constant. */
export function constantAffine(constant: Size): Affine {
  return { constant, terms: new Map(), atoms: [] };
}

/** Affine form of one variable times a coefficient. */
export function variableAffine(name: string, coefficient: Size = 1): Affine {
  return { constant: 0, terms: new Map([[name, coefficient]]), atoms: [] };
}

/** a + factor · b. */
export function addAffine(a: Affine, b: Affine, factor: Size = 1): Affine {
  if (factor === 0) return a;
  const terms = new Map(a.terms);
  for (const [name, coefficient] of b.terms) {
    const sum = sizeAdd(terms.get(name) ?? 0, sizeMul(factor, coefficient));
    if (sum === 0) terms.delete(name);
    else terms.set(name, sum);
  }
  const atoms = [...a.atoms];
  for (const atom of b.atoms) {
    const at = atoms.findIndex((other) => other.key === atom.key);
    const coefficient = sizeAdd(
      sizeMul(factor, atom.coefficient),
      at < 0 ? 0 : (atoms[at] as AffineAtom).coefficient,
    );
    if (at >= 0) atoms.splice(at, 1);
    if (coefficient !== 0) atoms.push({ ...atom, coefficient });
  }
  return { constant: sizeAdd(a.constant, sizeMul(factor, b.constant)), terms, atoms };
}

/** Structural key: equal keys are equal forms. */
export function affineKey(form: Affine): string {
  const terms = [...form.terms]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, c]) => `${String(c)}*${name}`);
  const atoms = form.atoms.map((atom) => `${String(atom.coefficient)}*${atom.key}`).sort();
  return `${String(form.constant)}+${terms.join('+')}+${atoms.join('+')}`;
}

const valueIds = new WeakMap<Expr, number>();
let nextValueId = 0;

function valueId(value: Expr): number {
  let id = valueIds.get(value);
  if (id === undefined) {
    id = nextValueId++;
    valueIds.set(value, id);
  }
  return id;
}

/** See the file header. */
export class LoopSpace {
  readonly #sizes = new Map<string, Size>();
  readonly #fixed = new Set<string>();
  readonly #digits = new Map<string, readonly Digit[]>();
  #memo = new Map<IndexExpr, Affine>();

  constructor(vars: readonly SizedLoop[]) {
    for (const { name, size } of vars) this.#sizes.set(name, size);
  }

  /** Trip count of a variable of this space. */
  size(name: string): Size {
    return this.#sizes.get(name) as Size;
  }

  /** Trip count of a variable to choose code by: that of the example where it is symbolic. */
  hint(name: string): number {
    return sizeHint(this.size(name));
  }

  /** Adds a variable of trip count one. */
  addUnit(name: string): void {
    this.#sizes.set(name, 1);
  }

  /** Fixes `outer` at 0 and lets `inner` run over both. */
  merge(outer: string, inner: string): void {
    this.#sizes.set(inner, sizeMul(this.size(outer), this.size(inner)));
    this.fix(outer);
  }

  /** Fixes a variable at 0 (its trip count is one). */
  fix(name: string): void {
    this.#fixed.add(name);
    this.#memo = new Map();
  }

  /** Replaces a variable by digits; `units` descend and each divides the one before. Returns the digits' names. */
  split(name: string, units: readonly Size[]): readonly string[] {
    const total = this.size(name);
    const digits = units.map((unit, i) => ({
      name: `${name}.${String(unit)}`,
      unit,
      size: sizeFloorDiv(units[i - 1] ?? total, unit),
    }));
    for (const digit of digits) this.#sizes.set(digit.name, digit.size);
    this.#digits.set(name, digits);
    this.#memo = new Map();
    return digits.map((digit) => digit.name);
  }

  /** Value of a variable as an affine form of this space's variables. */
  variable(name: string): Affine {
    if (this.#fixed.has(name)) return constantAffine(0);
    const digits = this.#digits.get(name);
    if (digits === undefined) return variableAffine(name);
    return {
      constant: 0,
      terms: new Map(digits.map((digit) => [digit.name, digit.unit])),
      atoms: [],
    };
  }

  /** An index in terms of this space's variables. */
  affine(index: IndexExpr): Affine {
    const known = this.#memo.get(index);
    if (known !== undefined) return known;
    const made = this.#affine(index);
    this.#memo.set(index, made);
    return made;
  }

  #affine(index: IndexExpr): Affine {
    switch (index.kind) {
      case 'int':
        return constantAffine(index.value);
      case 'size':
        return constantAffine(index.size);
      case 'sym':
        return this.variable(index.name);
      case 'value':
        return {
          constant: 0,
          terms: new Map(),
          atoms: [
            { kind: 'value', value: index.value, coefficient: 1, key: `@${valueId(index.value)}` },
          ],
        };
      case 'add':
        return index.terms.reduce(
          (sum, term) => addAffine(sum, this.affine(term)),
          constantAffine(0),
        );
      case 'mul':
        return index.factors.map((factor) => this.affine(factor)).reduce(multiply);
      case 'div':
      case 'mod': {
        const den = this.affine(index.den);
        if (
          den.terms.size > 0 ||
          den.atoms.length > 0 ||
          sizeKnown(den.constant, '>', 0) === false
        ) {
          throw new TesseraError(
            'plan-invalid',
            `An index divides by something that is not a positive constant.`,
          );
        }
        return this.#divide(index.kind, this.affine(index.num), den.constant);
      }
    }
  }

  /** Exact where the terms separate into multiples of `den` and a remainder in [0, den). */
  #divide(kind: 'div' | 'mod', num: Affine, den: Size): Affine {
    if (typeof den !== 'number' || !hasNumbers(num)) return divisionAtom(kind, num, den);
    const high = Math.floor(num.constant / den);
    let whole = constantAffine(high);
    let rest = constantAffine(num.constant - high * den);
    for (const [name, coefficient] of num.terms) {
      if (coefficient % den === 0)
        whole = addAffine(whole, variableAffine(name, coefficient / den));
      else rest = addAffine(rest, variableAffine(name, coefficient));
    }
    for (const atom of num.atoms)
      rest = addAffine(rest, { constant: 0, terms: new Map(), atoms: [atom] });
    const { min, max } = this.bounds(rest);
    if (min >= 0 && max < den) return kind === 'div' ? whole : rest;
    return divisionAtom(kind, num, den);
  }

  /** Smallest and largest value; of symbolic ones only whether they may be negative. */
  bounds(form: Affine): { readonly min: number; readonly max: number } {
    if (!hasNumbers(form)) return { min: isNeverNegative(form) ? 0 : -Infinity, max: Infinity };
    let min = form.constant;
    let max = form.constant;
    const widen = (coefficient: number, low: number, high: number): void => {
      min += coefficient > 0 ? coefficient * low : coefficient * high;
      max += coefficient > 0 ? coefficient * high : coefficient * low;
    };
    for (const [name, coefficient] of form.terms)
      widen(coefficient, 0, Math.max(highest(this.size(name)) - 1, 0));
    for (const atom of form.atoms as readonly NumberAtom[]) {
      const inner = atom.kind === 'div' ? this.bounds(atom.num) : undefined;
      if (atom.kind === 'mod') widen(atom.coefficient, 0, highest(atom.den) - 1);
      else if (atom.kind === 'div' && inner !== undefined && typeof atom.den === 'number')
        widen(atom.coefficient, Math.floor(inner.min / atom.den), Math.floor(inner.max / atom.den));
      else return { min: -Infinity, max: Infinity };
    }
    return { min, max };
  }
}

/** An affine form all of whose coefficients are numbers. */
interface NumberAffine extends Affine {
  readonly constant: number;
  readonly terms: ReadonlyMap<string, number>;
}
type NumberAtom = AffineAtom & { readonly coefficient: number };

function hasNumbers(form: Affine): form is NumberAffine {
  if (typeof form.constant !== 'number') return false;
  for (const coefficient of form.terms.values()) if (typeof coefficient !== 'number') return false;
  return form.atoms.every(({ coefficient }) => typeof coefficient === 'number');
}

/** Whether nothing is subtracted: variables, quotients and remainders are not negative. */
function isNeverNegative(form: Affine): boolean {
  const isUp = (size: Size): boolean => sizeKnown(size, '>=', 0) === true;
  return (
    isUp(form.constant) &&
    [...form.terms.values()].every(isUp) &&
    form.atoms.every(
      (atom) =>
        isUp(atom.coefficient) &&
        (atom.kind === 'mod' || (atom.kind === 'div' && isNeverNegative(atom.num))),
    )
  );
}

/** The largest value of a size. */
function highest(size: Size): number {
  return typeof size === 'number' ? size : size.env.rangeOf(size).hi;
}

function multiply(a: Affine, b: Affine): Affine {
  const plain = (form: Affine): boolean => form.terms.size === 0 && form.atoms.length === 0;
  if (plain(a)) return addAffine(constantAffine(0), b, a.constant);
  if (plain(b)) return addAffine(constantAffine(0), a, b.constant);
  const key = `(${affineKey(a)})(${affineKey(b)})`;
  return {
    constant: 0,
    terms: new Map(),
    atoms: [{ kind: 'product', factors: [a, b], coefficient: 1, key }],
  };
}

function divisionAtom(kind: 'div' | 'mod', num: Affine, den: Size): Affine {
  return {
    constant: 0,
    terms: new Map(),
    atoms: [{ kind, num, den, coefficient: 1, key: `(${affineKey(num)})${kind}${String(den)}` }],
  };
}
