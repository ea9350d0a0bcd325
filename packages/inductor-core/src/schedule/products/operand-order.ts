/**
 * @file The operands of a product: which way their slabs are loaded.
 *
 * Both operands are slabs of `bk` rows with `x` (m or n) along the row, so A is transposed on the way. A
 * unit is four values along whichever direction is contiguous in memory, so that it is one vector load where sizes
 * are multiples of four. Threads that follow each other take units along that direction.
 */
import type { Expr } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import { fastest, fillsLanes, moves } from '../../ir/loop-vars.js';
import { postorder } from '../../ir/walk.js';
import { type LaneAccess, laneAccess } from '../threads/lane-access.js';
import type { LaneSpec } from '../threads/lane-context.js';

/** One operand. */
export interface ProductOperand {
  /** Part of the names in generated code; a product's are `a` and `b`. */
  readonly name: string;
  readonly expr: Expr;
  readonly batch: readonly SizedLoop[];
  /** The operand's own variables: m of `a`, n of `b`. */
  readonly x: readonly SizedLoop[];
  readonly k: readonly SizedLoop[];
}

/**
 * Which way a slab is loaded: four values along x by each thread, with neighbouring threads along x or along k, or
 * four along k where those lie together in memory.
 */
export type LoadOrder = 'along x' | 'threads along k' | 'vectors along k';

/** The order in which an operand lies in memory. */
export function loadOrder(operand: ProductOperand): LoadOrder {
  if (!contiguousAlongK(operand)) return 'along x';
  return fillsLanes(fastest(operand.k)!) && isAligned(operand)
    ? 'vectors along k'
    : 'threads along k';
}

/** How four lanes cover variables: within the fastest where that is a multiple of four or alone. */
export function lanesAlong(vars: readonly SizedLoop[]): LaneSpec {
  const lane = fastest(vars);
  if (lane === null) return {};
  const moving = vars.filter(moves);
  if (fillsLanes(lane) || moving.length === 1) return { lane: lane.name };
  return { scattered: new Set(moving.map((v) => v.name)) };
}

/** Whether neighbouring k are neighbours in memory more often than neighbouring x. */
export function contiguousAlongK(operand: ProductOperand): boolean {
  const along = (vars: readonly SizedLoop[]): number =>
    accessesAlong(operand, vars).filter(({ stride }) => stride === 1).length;
  return along(operand.k) > along(operand.x);
}

/** Whether four neighbouring k are one load: rows that begin anywhere have no such four. */
function isAligned(operand: ProductOperand): boolean {
  return accessesAlong(operand, operand.k).some(
    ({ stride, alignment }) => stride === 1 && alignment === 4,
  );
}

/** How the operand's loads move along the fastest of some variables. */
function accessesAlong({ expr }: ProductOperand, vars: readonly SizedLoop[]): LaneAccess[] {
  const lane = fastest(vars)?.name;
  if (lane === undefined) return [];
  const facts = { lane, step: 1, scattered: NONE, alignments: NOTHING, isUniform: () => false };
  return postorder([expr]).flatMap((each) =>
    each.kind === 'load' ? [laneAccess(each.index, facts)] : [],
  );
}

const NONE: ReadonlySet<string> = new Set();
const NOTHING: ReadonlyMap<string, number> = new Map();
