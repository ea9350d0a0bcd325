/**
 * @file Affine forms: indices as sums of multiples of loop variables, and of what is no such multiple.
 */
import { type Size, sizeAdd, sizeKnown, sizeMul } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';

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
      at < 0 ? 0 : atoms[at].coefficient,
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

/** Affine form of a run-time value. */
export function valueAffine(value: Expr): Affine {
  return {
    constant: 0,
    terms: new Map(),
    atoms: [{ kind: 'value', value, coefficient: 1, key: `@${valueId(value)}` }],
  };
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

/** Whether an index uses a variable, other than in its run-time values. */
export function mentions({ terms, atoms }: Affine, name: string): boolean {
  if (terms.has(name)) return true;
  return atoms.some((atom) => {
    if (atom.kind === 'value') return false;
    const forms = atom.kind === 'product' ? atom.factors : [atom.num];
    return forms.some((form) => mentions(form, name));
  });
}

/** An affine form all of whose coefficients are numbers. */
export interface NumberAffine extends Affine {
  readonly constant: number;
  readonly terms: ReadonlyMap<string, number>;
}
/** An atom whose coefficient is a number. */
export type NumberAtom = AffineAtom & { readonly coefficient: number };

/** Whether all coefficients are numbers. */
export function hasNumbers(form: Affine): form is NumberAffine {
  if (typeof form.constant !== 'number') return false;
  for (const coefficient of form.terms.values()) if (typeof coefficient !== 'number') return false;
  return form.atoms.every(({ coefficient }) => typeof coefficient === 'number');
}

/** Whether nothing is subtracted: variables, quotients and remainders are not negative. */
export function isNeverNegative(form: Affine): boolean {
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

/** a · b. */
export function multiplyAffine(a: Affine, b: Affine): Affine {
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

/** A quotient or remainder that is a part of its own. */
export function divisionAtom(kind: 'div' | 'mod', num: Affine, den: Size): Affine {
  return {
    constant: 0,
    terms: new Map(),
    atoms: [{ kind, num, den, coefficient: 1, key: `(${affineKey(num)})${kind}${String(den)}` }],
  };
}
