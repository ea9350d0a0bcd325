/**
 * @file Relations between sizes in normal form: what guards and facts are made of.
 *
 * A relation is `base op bound` with a primitive polynomial on the left (no constant, no common
 * factor, leading coefficient positive) and an integer on the right; strict inequalities become
 * non-strict ones. Relations that mean the same thus have the same {@link relationKey}.
 */
import { compareNumbers } from './integer-arithmetic.js';
import type { RelationOp } from './integer-arithmetic.js';
import { addScaledSize, linearFormOf } from './polynomial.js';
import type { Size } from './size.js';
import type { SymInt, SymIntOwner } from './sym-int.js';
import { inRange } from './value-range.js';
import type { ValueRange } from './value-range.js';

/** `base op bound` in normal form. */
export interface Relation {
  readonly base: SymInt;
  readonly op: '==' | '!=' | '<=' | '>=';
  readonly bound: number;
}

/** Normal form of `left op right`; true or false where that does not depend on any symbol. */
export function relationOf(
  env: SymIntOwner,
  left: Size,
  op: RelationOp,
  right: Size,
): Relation | boolean {
  const difference = addScaledSize(env, left, right, -1);
  if (typeof difference === 'number') return compareNumbers(difference, op, 0);
  const { scale, base, constant } = linearFormOf(env, difference);
  // scale * base + constant op 0
  const bound = -constant / scale + 0;
  if (op === '==' || op === '!=') {
    return Number.isInteger(bound) ? { base, op, bound } : op === '!=';
  }
  const upper = (op === '<' || op === '<=') === scale > 0;
  const strict = op === '<' || op === '>';
  if (upper) return { base, op: '<=', bound: strict ? Math.ceil(bound) - 1 : Math.floor(bound) };
  return { base, op: '>=', bound: strict ? Math.floor(bound) + 1 : Math.ceil(bound) };
}

/** The opposite relation. */
export function negateRelation({ base, op, bound }: Relation): Relation {
  switch (op) {
    case '==':
      return { base, op: '!=', bound };
    case '!=':
      return { base, op: '==', bound };
    case '<=':
      return { base, op: '>=', bound: bound + 1 };
    case '>=':
      return { base, op: '<=', bound: bound - 1 };
  }
}

/** Text that is equal for relations that mean the same. */
export function relationKey({ base, op, bound }: Relation): string {
  return `${base.id}${op}${bound}`;
}

/** Whether the relation holds for all or for no value in the range of its base, else undefined. */
export function decideByRange({ op, bound }: Relation, range: ValueRange): boolean | undefined {
  switch (op) {
    case '==':
      return range.lo === bound && range.hi === bound
        ? true
        : inRange(range, bound)
          ? undefined
          : false;
    case '!=':
      return range.lo === bound && range.hi === bound
        ? false
        : inRange(range, bound)
          ? undefined
          : true;
    case '<=':
      return range.hi <= bound ? true : range.lo > bound ? false : undefined;
    case '>=':
      return range.lo >= bound ? true : range.hi < bound ? false : undefined;
  }
}
