/**
 * @file `LinearForm`: an index as a constant and multiples of its parts, which is how strides, equations and bounds are read.
 *
 * A part is a variable, or what is no sum and no multiple of something: a quotient, a remainder, a product or a run-time
 * value. Parts are expressions of one `IndexBuilder`, so that equal ones are the same object.
 */
import type { Size } from '@tessera/shared';
import type { IndexExpr } from './index-expr.js';
import { indexSymbols } from './walk.js';

/** `constant + Σ coefficient · part`, in the units that the index has. */
export interface LinearForm {
  readonly constant: Size;
  readonly terms: ReadonlyMap<IndexExpr, Size>;
}

/** The multiple of a variable in a form; 0 if there is none. */
export function coefficientOf({ terms }: LinearForm, name: string): Size {
  for (const [part, coefficient] of terms)
    if (part.kind === 'sym' && part.name === name) return coefficient;
  return 0;
}

/** A part that is no variable. */
export type OtherPart = Extract<IndexExpr, { kind: 'div' | 'mod' | 'mul' | 'value' }>;

/** The parts that are no variables, with their coefficients. */
export function otherParts({ terms }: LinearForm): [OtherPart, Size][] {
  return [...terms].filter((term): term is [OtherPart, Size] => term[0].kind !== 'sym');
}

/** Whether nothing but variables moves an index. */
export function isLinear({ terms }: LinearForm): boolean {
  for (const { kind } of terms.keys()) if (kind !== 'sym') return false;
  return true;
}

/** Whether a form is a variable and nothing else. */
export function isVariable({ constant, terms }: LinearForm, name: string): boolean {
  return constant === 0 && terms.size === 1 && coefficientOf({ constant, terms }, name) === 1;
}

/** Whether an index uses a variable, other than in its run-time values. */
export function mentions({ terms }: LinearForm, name: string): boolean {
  return [...terms.keys()].some((part) => indexSymbols(part).has(name));
}

/** Step of an index per unit of a variable; null if it depends on it otherwise. */
export function strideOf(form: LinearForm, name: string): Size | null {
  for (const part of form.terms.keys())
    if (part.kind !== 'sym' && indexSymbols(part).has(name)) return null;
  return coefficientOf(form, name);
}
