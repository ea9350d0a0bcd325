/**
 * @file Which indices are contiguous over four vector lanes.
 *
 * A kernel may spread one loop variable over the lanes of a vector: lane j stands for value v + j,
 * where v is a multiple of four and v + 3 does not pass the variable's end. A load whose index moves
 * by one per lane from a multiple of four is one vec4 load; one that does not move is a scalar that is
 * broadcast; any other is four scalar loads.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { isMultiple } from '../../ir/size-units.js';

/** Movement of an index over the lanes. */
export interface LaneAccess {
  /** Elements per lane, or null when it is not the same for all lanes. */
  readonly stride: number | null;
  /** Largest of 1, 2, 4 that divides lane 0's index for certain. */
  readonly alignment: number;
}

const gcd4 = (value: Size): number => (isMultiple(value, 4) ? 4 : isMultiple(value, 2) ? 2 : 1);

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
  const visit = (node: IndexExpr): LaneAccess => {
    switch (node.kind) {
      case 'int':
        return { stride: 0, alignment: gcd4(node.value) };
      case 'size':
        return { stride: 0, alignment: gcd4(node.size) };
      case 'sym':
        if (node.name === facts.lane)
          return { stride: facts.step, alignment: facts.step === 1 ? 4 : 1 };
        if (facts.scattered.has(node.name)) return { stride: null, alignment: 1 };
        return { stride: 0, alignment: facts.alignments.get(node.name) ?? 1 };
      case 'value':
        return { stride: facts.isUniform(node.value) ? 0 : null, alignment: 1 };
      case 'add': {
        let stride: number | null = 0;
        let alignment = 4;
        for (const term of node.terms) {
          const part = visit(term);
          stride = stride === null || part.stride === null ? null : stride + part.stride;
          alignment = Math.min(alignment, part.alignment);
        }
        return { stride, alignment };
      }
      case 'mul': {
        let scale: number | null = 1;
        let moving: LaneAccess | null = null;
        let alignment = 1;
        for (const factor of node.factors) {
          const part = visit(factor);
          alignment = Math.min(4, alignment * part.alignment);
          if (factor.kind === 'int') scale = scale === null ? null : scale * factor.value;
          else if (part.stride === 0) scale = null;
          else if (moving === null) moving = part;
          else return { stride: null, alignment };
        }
        if (moving === null) return { stride: 0, alignment };
        return {
          stride: scale === null || moving.stride === null ? null : scale * moving.stride,
          alignment,
        };
      }
      case 'div':
      case 'mod': {
        const num = visit(node.num);
        const den = node.den;
        const by = den.kind === 'int' ? den.value : den.kind === 'size' ? den.size : null;
        if (by === null)
          return { stride: num.stride === 0 && visit(den).stride === 0 ? 0 : null, alignment: 1 };
        if (node.kind === 'div' && by === 1) return num;
        const alignment = node.kind === 'mod' ? Math.min(num.alignment, gcd4(by)) : 1;
        if (num.stride === 0) return { stride: 0, alignment };
        // Four consecutive values from a multiple of four stay within one block of 4k.
        const withinBlock =
          facts.step === 1 && num.stride === 1 && num.alignment === 4 && isMultiple(by, 4);
        if (!withinBlock) return { stride: null, alignment };
        return { stride: node.kind === 'div' ? 0 : 1, alignment };
      }
    }
  };
  return visit(index);
}
