/**
 * @file Nodes that store to a part of a buffer: beside nodes that fill the rest, or over what was there.
 */
import type { Combine, Expr } from '../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { type IrBuffer, memoryOf } from './ir-node.js';
import type { Lowering } from './lowering.js';
import type { Shape } from './shape-math.js';

/** How elements that have the same place meet: one after another along the dimensions `along`, or combined. */
export type Meeting = { readonly along: readonly number[] } | { readonly combine: Combine };

/** Adds a node that stores `expr`, over the canonical variables of `sizes`, to a part of `out`. */
export function addPart(
  l: Lowering,
  out: IrBuffer,
  sizes: Shape,
  expr: Expr,
  part: readonly IndexExpr[],
  meeting: Meeting = { along: [] },
): void {
  const steps = 'along' in meeting ? meeting.along : [];
  const mutation = out.before !== null;
  const along = (areSteps: boolean): SizedLoop[] =>
    l.loopVars(sizes.map((size, d) => (steps.includes(d) === areSteps ? size : 1)));
  l.nodes.push({
    kind: 'pointwise',
    id: l.nodes.length,
    out,
    part,
    vars: along(false),
    steps: along(true),
    combine: 'combine' in meeting ? meeting.combine : null,
    value: l.ir.cast(expr, out.dtype),
    mutation,
    ...l.workOf([expr], mutation),
  });
}

/**
 * Adds a node that overwrites a part of a buffer's memory; gives the buffer as it is then. Nodes made so far read it as it
 * was before, and later ones must not.
 */
export function addOverwrite(
  l: Lowering,
  before: IrBuffer,
  sizes: Shape,
  expr: Expr,
  part: readonly IndexExpr[],
  meeting?: Meeting,
): IrBuffer {
  const name = `${memoryOf(before).name}_${l.nodes.length}`;
  const out: IrBuffer = { ...before, name, output: -1, before };
  addPart(l, out, sizes, expr, part, meeting);
  return out;
}
