/**
 * @file Which indices are contiguous over four vector lanes.
 *
 * A kernel may spread one loop variable over the lanes of a vector: lane j stands for value v + j,
 * where v is a multiple of four and v + 3 does not pass the variable's end. A load whose index moves
 * by one per lane from a multiple of four is one vec4 load; one that does not move is a scalar that is
 * broadcast; any other is four scalar loads.
 */
import { isMultiple } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import { divisorOf } from '../../ir/index-bounds.js';
import { divisorIn } from '../../ir/index-divisor.js';
import type { IndexExpr } from '../../ir/index-expr.js';

/** Movement of an index over the lanes. */
export interface LaneAccess {
  /** Elements per lane, or null when it is not the same for all lanes. */
  readonly stride: number | null;
  /** Largest of 1, 2, 4 that divides lane 0's index for certain. */
  readonly alignment: number;
}

/** What is known about the symbols and values of an index. */
export interface LaneFacts {
  /** The variable that is spread over the lanes. */
  readonly lane: string;
  /** How far apart its values on neighbouring lanes are; ordinarily 1. */
  readonly step: number;
  /** Variables with an arbitrary value on each lane. */
  readonly scattered: ReadonlySet<string>;
  /** Known divisors (2 or 4) of other variables. */
  readonly alignments: ReadonlyMap<string, number>;
  /** Whether a run-time value inside the index is the same on all lanes. */
  isUniform(value: Expr): boolean;
}

/** Analyses an index; see the file header. */
export function laneAccess(index: IndexExpr, facts: LaneFacts): LaneAccess {
  const alignment = (part: IndexExpr): number =>
    divisorIn(part, 4, (name) => {
      if (name === facts.lane) return facts.step === 1 ? 4 : 1;
      return facts.scattered.has(name) ? 1 : (facts.alignments.get(name) ?? 1);
    });
  const stride = (part: IndexExpr): number | null => {
    switch (part.kind) {
      case 'int':
      case 'size':
        return 0;
      case 'sym':
        if (part.name === facts.lane) return facts.step;
        return facts.scattered.has(part.name) ? null : 0;
      case 'value':
        return facts.isUniform(part.value) ? 0 : null;
      case 'add':
        return part.terms
          .map(stride)
          .reduce((sum, each) => (sum === null || each === null ? null : sum + each));
      case 'mul': {
        let scale: number | null = 1;
        let moving: number | null = 0;
        for (const factor of part.factors) {
          const own = stride(factor);
          if (factor.kind === 'int') scale = scale === null ? null : scale * factor.value;
          else if (own === 0) scale = null;
          else if (moving === 0) moving = own;
          else return null;
        }
        if (moving === 0) return 0;
        return scale === null || moving === null ? null : scale * moving;
      }
      case 'div':
      case 'mod': {
        const along = stride(part.num);
        const by = divisorOf(part.den);
        if (by === null) return along === 0 && stride(part.den) === 0 ? 0 : null;
        if (along === 0) return 0;
        // Four consecutive values from a multiple of four stay within one block of 4k.
        const isWithinBlock =
          facts.step === 1 && along === 1 && alignment(part.num) === 4 && isMultiple(by, 4);
        if (!isWithinBlock) return null;
        return part.kind === 'div' ? 0 : 1;
      }
    }
  };
  return { stride: stride(index), alignment: alignment(index) };
}
