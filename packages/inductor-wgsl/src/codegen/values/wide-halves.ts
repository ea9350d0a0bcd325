/**
 * @file Operands of float16 that are read eight values at a time: 16 bytes, which a card moves at once, as a vector of
 * four words, which takes four registers.
 *
 * They are plain loads, and all that the kernel reads of their buffers is read so.
 */
import {
  type Expr,
  fastest,
  indexSymbols,
  type LaneContext,
  type LoadOrder,
  pairedPlace,
  postorder,
  type ProductOperand,
} from '@tessera/inductor-core';
import { isMultiple } from '@tessera/shared';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';

/** A load of an element. */
export type LoadExpr = Extract<Expr, { kind: 'load' }>;

/** An operand, and how it is loaded. */
export interface LoadedOperand {
  readonly operand: ProductOperand;
  readonly order: LoadOrder;
  readonly context: LaneContext;
}

/** Values that are read at a time. */
export const WIDE = 8;

/** The load that an operand is of, if eight of its values lie together from each multiple of eight on. */
function wideLoad({ operand, order, context }: LoadedOperand): LoadExpr | null {
  let load = operand.expr;
  while (load.kind === 'op' && load.op === 'cast') load = load.args[0]!;
  if (load.kind !== 'load' || load.dtype !== 'float16') return null;
  const lane = fastest(order === 'vectors along k' ? operand.k : operand.x);
  if (lane === null || !isMultiple(lane.size, WIDE)) return null;
  const { stride, alignment } = context.access(load.index);
  if (stride !== 1 || alignment !== 4) return null;
  const others = (load.index.kind === 'add' ? load.index.terms : [load.index]).filter(
    (term) => term.kind !== 'sym' || term.name !== lane.name,
  );
  if (others.some((term) => indexSymbols(term).has(lane.name))) return null;
  const first = pairedPlace({ kind: 'add', terms: [...others, { kind: 'int', value: 0 }] }, 4);
  return first?.part === 0 ? load : null;
}

/**
 * What each operand reads in this way, or null.
 *
 * @param others what else the kernel computes
 */
export function wideLoads(
  operands: readonly LoadedOperand[],
  others: readonly Expr[],
  { offsets, slots }: KernelVariant,
  { f16 }: WgslTarget,
): readonly (LoadExpr | null)[] {
  const isDirect = f16 && !offsets && new Set(slots).size === slots.length;
  const wide = operands.map((operand) => (isDirect ? wideLoad(operand) : null));
  const narrow = operands.flatMap(({ operand }, i) => (wide[i] === null ? [operand.expr] : []));
  const refused = new Set(
    postorder([...narrow, ...others]).flatMap((expr) => (expr.kind === 'load' ? [expr.buf] : [])),
  );
  return wide.map((load) => (load === null || refused.has(load.buf) ? null : load));
}

/** Names of the buffers that are read so. */
export function wideBuffers(loads: readonly (LoadExpr | null)[]): Set<string> {
  return new Set(loads.flatMap((load) => load?.buf ?? []));
}
