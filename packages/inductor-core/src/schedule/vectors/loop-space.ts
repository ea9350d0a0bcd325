/**
 * @file `LoopSpace`: the loop variables of a kernel, as a schedule iterates over them.
 *
 * Two changes are made without touching the kernel's expressions. *Merging*: neighbouring variables
 * `a`, `b` that every index uses as `a·size(b) + b` become one variable: `a` is 0 and `b` runs over both.
 * *Splitting*: a variable that indices use as `v div d` and `v mod d` is replaced by its digits, so that
 * those become plain variables. What a variable then is of others is its definition. `affine` reads an
 * index in terms of the result; loop code and addresses are made from affine forms only.
 */
import {
  type Size,
  TesseraError,
  sizeFloorDiv,
  sizeHint,
  sizeKnown,
  sizeMul,
} from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { times, variable, whole } from '../kernel/places.js';
import {
  addAffine,
  type Affine,
  isNeverNegative,
  constantAffine,
  divisionAtom,
  hasNumbers,
  multiplyAffine,
  valueAffine,
  type NumberAtom,
  variableAffine,
} from './affine.js';

/** The largest value of a size. */
function highest(size: Size): number {
  return typeof size === 'number' ? size : size.env.rangeOf(size).hi;
}

/** See the file header. */
export class LoopSpace {
  readonly #sizes = new Map<string, Size>();
  readonly #definitions = new Map<string, IndexExpr>();
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

  /** What variables are of others. */
  get definitions(): ReadonlyMap<string, IndexExpr> {
    return this.#definitions;
  }

  /** Makes a variable what an index of others is. */
  define(name: string, index: IndexExpr): void {
    this.#definitions.set(name, index);
    this.#memo = new Map();
  }

  /** Makes `outer` 0 and lets `inner` run over both. */
  merge(outer: string, inner: string): void {
    this.#sizes.set(inner, sizeMul(this.size(outer), this.size(inner)));
    this.fix(outer);
  }

  /** Makes a variable 0 (its trip count is one). */
  fix(name: string): void {
    this.define(name, whole(0));
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
    const terms = digits.map((digit) => times(variable(digit.name), digit.unit));
    this.define(name, { kind: 'add', terms });
    return digits.map((digit) => digit.name);
  }

  /** Value of a variable as an affine form of this space's variables. */
  variable(name: string): Affine {
    const definition = this.#definitions.get(name);
    return definition === undefined ? variableAffine(name) : this.affine(definition);
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
        return valueAffine(index.value);
      case 'add':
        return index.terms.reduce(
          (sum, term) => addAffine(sum, this.affine(term)),
          constantAffine(0),
        );
      case 'mul':
        return index.factors.map((factor) => this.affine(factor)).reduce(multiplyAffine);
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
