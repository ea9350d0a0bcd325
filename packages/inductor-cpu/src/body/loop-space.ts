/**
 * @file `LoopSpace`: the loop variables of a kernel, as the code generator iterates over them.
 *
 * Two changes are made without touching the kernel's expressions. *Merging*: neighbouring variables
 * `a`, `b` that every index uses as `a·size(b) + b` become one variable: `a` is fixed at 0 and `b` runs
 * over both. *Splitting*: a variable that indices use as `v div d` and `v mod d` is replaced by its
 * digits, so that those become plain variables. `affine` reads an index in terms of the result; loop
 * code and addresses are made from affine forms only.
 */
import { TesseraError } from '@tessera/shared';
import type { Expr, IndexExpr, LoopVar } from '@tessera/inductor-core';

/** `constant + Σ terms[v] · v + Σ coefficient · atom`, units as the index has. */
export interface Affine {
  readonly constant: number;
  readonly terms: ReadonlyMap<string, number>;
  readonly atoms: readonly AffineAtom[];
}

/** A part of an index that is no multiple of a loop variable. */
export type AffineAtom =
  | {
      readonly kind: 'div' | 'mod';
      readonly num: Affine;
      readonly den: number;
      readonly coefficient: number;
      readonly key: string;
    }
  | {
      readonly kind: 'value';
      readonly value: Expr;
      readonly coefficient: number;
      readonly key: string;
    }
  | {
      readonly kind: 'product';
      readonly factors: readonly Affine[];
      readonly coefficient: number;
      readonly key: string;
    };

/** A variable written as its digits, highest first: `v = Σ digit.unit · digit.name`. */
interface Digit {
  readonly name: string;
  readonly unit: number;
  readonly size: number;
}

/** Affine form of a constant. */
export function constantAffine(constant: number): Affine {
  return { constant, terms: new Map(), atoms: [] };
}

/** Affine form of one variable times a coefficient. */
export function variableAffine(name: string, coefficient = 1): Affine {
  return { constant: 0, terms: new Map([[name, coefficient]]), atoms: [] };
}

/** a + factor · b. */
export function addAffine(a: Affine, b: Affine, factor = 1): Affine {
  if (factor === 0) return a;
  const terms = new Map(a.terms);
  for (const [name, coefficient] of b.terms) {
    const sum = (terms.get(name) ?? 0) + factor * coefficient;
    if (sum === 0) terms.delete(name);
    else terms.set(name, sum);
  }
  const atoms = [...a.atoms];
  for (const atom of b.atoms) {
    const at = atoms.findIndex((other) => other.key === atom.key);
    const coefficient =
      factor * atom.coefficient + (at < 0 ? 0 : (atoms[at] as AffineAtom).coefficient);
    if (at >= 0) atoms.splice(at, 1);
    if (coefficient !== 0) atoms.push({ ...atom, coefficient });
  }
  return { constant: a.constant + factor * b.constant, terms, atoms };
}

/** Structural key: equal keys are equal forms. */
export function affineKey(form: Affine): string {
  const terms = [...form.terms]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, c]) => `${c}*${name}`);
  const atoms = form.atoms.map((atom) => `${atom.coefficient}*${atom.key}`).sort();
  return `${form.constant}+${terms.join('+')}+${atoms.join('+')}`;
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
  readonly #sizes = new Map<string, number>();
  readonly #fixed = new Set<string>();
  readonly #digits = new Map<string, readonly Digit[]>();
  #memo = new Map<IndexExpr, Affine>();

  constructor(vars: readonly LoopVar[]) {
    for (const { name, size } of vars) this.#sizes.set(name, size);
  }

  /** Trip count of a variable of this space. */
  size(name: string): number {
    return this.#sizes.get(name) as number;
  }

  /** Adds a variable of trip count one. */
  addUnit(name: string): void {
    this.#sizes.set(name, 1);
  }

  /** Fixes `outer` at 0 and lets `inner` run over both. */
  merge(outer: string, inner: string): void {
    this.#sizes.set(inner, this.size(outer) * this.size(inner));
    this.fix(outer);
  }

  /** Fixes a variable at 0 (its trip count is one). */
  fix(name: string): void {
    this.#fixed.add(name);
    this.#memo = new Map();
  }

  /** Replaces a variable by digits; `units` descend and each divides the one before. Returns the digits' names. */
  split(name: string, units: readonly number[]): readonly string[] {
    const total = this.size(name);
    const digits = units.map((unit, i) => ({
      name: `${name}.${unit}`,
      unit,
      size: (units[i - 1] ?? total) / unit,
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
        if (den.terms.size > 0 || den.atoms.length > 0 || den.constant <= 0) {
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
  #divide(kind: 'div' | 'mod', num: Affine, den: number): Affine {
    let whole = constantAffine(Math.floor(num.constant / den));
    let rest = constantAffine(num.constant - whole.constant * den);
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

  /** Smallest and largest value. */
  bounds(form: Affine): { readonly min: number; readonly max: number } {
    let min = form.constant;
    let max = form.constant;
    const widen = (coefficient: number, low: number, high: number): void => {
      min += coefficient > 0 ? coefficient * low : coefficient * high;
      max += coefficient > 0 ? coefficient * high : coefficient * low;
    };
    for (const [name, coefficient] of form.terms)
      widen(coefficient, 0, Math.max(this.size(name) - 1, 0));
    for (const atom of form.atoms) {
      const inner = atom.kind === 'div' ? this.bounds(atom.num) : undefined;
      if (atom.kind === 'mod') widen(atom.coefficient, 0, atom.den - 1);
      else if (atom.kind === 'div' && inner !== undefined)
        widen(atom.coefficient, Math.floor(inner.min / atom.den), Math.floor(inner.max / atom.den));
      else return { min: -Infinity, max: Infinity };
    }
    return { min, max };
  }
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

function divisionAtom(kind: 'div' | 'mod', num: Affine, den: number): Affine {
  return {
    constant: 0,
    terms: new Map(),
    atoms: [{ kind, num, den, coefficient: 1, key: `(${affineKey(num)})${kind}${den}` }],
  };
}
