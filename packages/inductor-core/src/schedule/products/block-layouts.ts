/**
 * @file How operands of products in blocks lie: what is a plain load is read in place or copied into panels, what is more
 * is computed into rows.
 */
import { type Size, sizeHint } from '@tessera/shared';
import { type DType, itemSize } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import type { BufferParam } from '../../ir/kernel.js';
import type { BlockSide, PackedExtent, PackOrder, PlainOperand } from '../kernel/blocks.js';
import type { LoopSpace } from '../vectors/loop-space.js';
import { flatStride, stridesOf } from './flat-stride.js';
import { adjacency, mergedSpace } from './merged-space.js';

/** An operand as a plain one; null if it is more than a load, or of another type than sums are. */
export function plainOperand(
  expr: Expr,
  [lines, depth]: readonly (readonly SizedLoop[])[],
  params: readonly BufferParam[],
  dtype: DType,
  space: LoopSpace,
): PlainOperand | null {
  if (expr.kind !== 'load') return null;
  if (params.find(({ name }) => name === expr.buf)?.dtype !== dtype) return null;
  const index = stridesOf(space, expr.index);
  if (index === null) return null;
  const lineStride = flatStride(index, lines!);
  const stepStride = flatStride(index, depth!);
  if (typeof lineStride !== 'number' || typeof stepStride !== 'number') return null;
  return { buf: expr.buf, index, lineStride, stepStride };
}

/** An operand that is packed. */
export interface PackedOperand {
  readonly side: 'a' | 'b';
  readonly expr: Expr;
  readonly lines: readonly SizedLoop[];
}

/** Chooses what is adjacent in rows of an operand: of B lines, which vectors go along. */
export function packOrder(
  { batch, depth }: Record<'batch' | 'depth', readonly SizedLoop[]>,
  { side, expr, lines }: PackedOperand,
): PackOrder {
  const { space, lists } = mergedSpace([lines, depth], batch, [expr], []);
  const [line, step] = lists.map((list) => list.at(-1)!);
  const alongLines = adjacency(expr, space, line!.name);
  const alongSteps = adjacency(expr, space, step!.name);
  if (side === 'b') return alongSteps > alongLines ? 'transposed' : 'lines';
  return alongSteps > alongLines ||
    (alongSteps === alongLines && sizeHint(step!.size) > sizeHint(line!.size))
    ? 'steps'
    : 'lines';
}

/** Elements between the rows of a block: keeps rows apart in the cache, and takes what partial vectors write. */
const ROW_PADDING = 16;

/** Elements from one row of a block to the next. */
export function rowPitch(length: number): number {
  return roundUp(length, 8) + ROW_PADDING;
}

/** Bytes from one panel to the next: a cache line apart, lest all compete for the same lines of the cache. */
export function panelPitch(steps: number, lines: number, bytes: number): number {
  return steps * lines * bytes + 64;
}

/** Elements of the array that a side is packed in, with what vectors read beyond its end; 0 if it has none. */
export function packedLength({ layout }: BlockSide, lines: number, dtype: DType): number {
  const bytes = itemSize(dtype);
  const slack = 64 / bytes;
  if (layout.kind === 'image') return (layout.steps / layout.taps.length) * layout.channel + slack;
  if (layout.kind === 'panels') {
    const panels = Math.ceil(layout.lines / lines);
    return (panels * panelPitch(layout.steps, lines, bytes)) / bytes + slack;
  }
  if (layout.kind !== 'rows') return 0;
  const [row, rows] =
    layout.order === 'steps' ? [layout.steps, layout.lines] : [layout.lines, layout.steps];
  return rows * rowPitch(row) + slack;
}

/** The layout of an operand that is packed in rows. */
export function inRows(
  loops: Record<'batch' | 'depth', readonly SizedLoop[]>,
  operand: PackedOperand,
  extent: PackedExtent,
): BlockSide {
  const layout = { kind: 'rows', order: packOrder(loops, operand), ...extent } as const;
  return { lines: operand.lines, value: operand.expr, layout };
}

/** The next multiple of `grain`. */
export function roundUp(value: number, grain: number): number {
  return Math.ceil(value / grain) * grain;
}

/** What of an extent is known; null where it is not. */
export function known(size: Size): number | null {
  return typeof size === 'number' ? size : null;
}

/** Elements of a vector of 128 bits. */
export function lanesOf(dtype: DType): number {
  return 16 / itemSize(dtype);
}
