/**
 * @file Index expressions of schedules, as they are written: nothing is simplified or put in order.
 *
 * They say where a thread is, and are made of few parts by those who know them; the canonical forms of `IndexBuilder`
 * are for what many operators compose.
 */
import { type Size, SymInt, sizeFloorDiv, sizeMul } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { moves } from '../../ir/loop-vars.js';
import type { ScheduledStmt } from './scheduled-kernel.js';

/** A size. */
export function whole(size: Size): IndexExpr {
  return typeof size === 'number' ? { kind: 'int', value: size } : { kind: 'size', size };
}

/** A variable. */
export function variable(name: string): IndexExpr {
  return { kind: 'sym', name };
}

/** a + b. */
export function plus(a: IndexExpr, b: IndexExpr): IndexExpr {
  return { kind: 'add', terms: [a, b] };
}

/** The sum of all terms; those that are 0 are left out. */
export function sum(...terms: readonly IndexExpr[]): IndexExpr {
  const flat: IndexExpr[] = [];
  const take = (term: IndexExpr): void => {
    if (term.kind !== 'int' || term.value !== 0) flat.push(term);
  };
  for (const term of terms) {
    if (term.kind === 'add') term.terms.forEach(take);
    else take(term);
  }
  if (flat.length === 0) return whole(0);
  return flat.length === 1 ? flat[0]! : { kind: 'add', terms: flat };
}

/** An index where some variables are numbers; what is a number then is computed. */
export function indexAt(index: IndexExpr, values: ReadonlyMap<string, number>): IndexExpr {
  const visit = (node: IndexExpr): IndexExpr => {
    switch (node.kind) {
      case 'sym': {
        const value = values.get(node.name);
        return value === undefined ? node : whole(value);
      }
      case 'add': {
        const terms = node.terms.map(visit);
        const total = terms.reduce((n, term) => n + numberOf(term), 0);
        return Number.isNaN(total) ? sum(...terms) : whole(total);
      }
      case 'mul': {
        const factors = node.factors.map(visit);
        const product = factors.reduce((n, factor) => n * numberOf(factor), 1);
        return Number.isNaN(product) ? { kind: 'mul', factors } : whole(product);
      }
      case 'div':
      case 'mod': {
        const [num, den] = [visit(node.num), visit(node.den)];
        if (num.kind !== 'int' || den.kind !== 'int') return { kind: node.kind, num, den };
        const quotient = Math.floor(num.value / den.value);
        return whole(node.kind === 'div' ? quotient : num.value - quotient * den.value);
      }
      default:
        return node;
    }
  };
  return visit(index);
}

function numberOf(index: IndexExpr): number {
  return index.kind === 'int' ? index.value : NaN;
}

/** a - b · factor. */
export function minus(a: IndexExpr, b: IndexExpr, factor = 1): IndexExpr {
  return plus(a, { kind: 'mul', factors: [b, whole(-factor)] });
}

/** a · by. */
export function times(a: IndexExpr, by: Size): IndexExpr {
  return by === 1 ? a : { kind: 'mul', factors: [a, whole(by)] };
}

/** Floor of a over `by`. */
export function over(a: IndexExpr, by: Size | IndexExpr): IndexExpr {
  return by === 1 ? a : { kind: 'div', num: a, den: asIndex(by) };
}

/** Remainder of a over `by`. */
export function modulo(a: IndexExpr, by: Size | IndexExpr): IndexExpr {
  return { kind: 'mod', num: a, den: asIndex(by) };
}

/** A size or an index. */
export function asIndex(value: Size | IndexExpr): IndexExpr {
  return typeof value === 'number' || value instanceof SymInt ? whole(value) : value;
}

/** How `placesOf` names and counts. */
export interface PlaceOptions {
  /** Positions count groups of four values of this variable. */
  readonly lane?: string | undefined;
  /** Names of the variables that are defined; those of the kernel if absent. */
  readonly rename?: (name: string) => string;
}

/** The variables that position `flat` stands for, the last of them fastest. */
export function placesOf(
  vars: readonly SizedLoop[],
  flat: IndexExpr,
  { lane, rename = (name) => name }: PlaceOptions = {},
): ScheduledStmt[] {
  const moving = vars.filter(moves);
  const lets = vars
    .filter((v) => !moves(v))
    .map(({ name }): ScheduledStmt => ({ kind: 'let', name: rename(name), index: whole(0) }));
  let divisor: Size = 1;
  for (const [i, { name, size }] of [...moving.entries()].reverse()) {
    const isLane = name === lane;
    const count = isLane ? sizeFloorDiv(size, 4) : size;
    const digit = over(flat, divisor);
    const place = i > 0 ? modulo(digit, count) : digit;
    const index = isLane && size === 4 ? whole(0) : isLane ? times(place, 4) : place;
    lets.push({ kind: 'let', name: rename(name), index });
    divisor = sizeMul(divisor, count);
  }
  return lets;
}

/** The flattened place in loops at their variables. */
export function flatPlace(vars: readonly SizedLoop[]): IndexExpr {
  let unit: Size = 1;
  const terms: IndexExpr[] = [];
  for (const { name, size } of vars.filter(moves).toReversed()) {
    terms.unshift(times(variable(name), unit));
    unit = sizeMul(unit, size);
  }
  if (terms.length === 0) return whole(0);
  return terms.length === 1 ? terms[0]! : { kind: 'add', terms };
}
