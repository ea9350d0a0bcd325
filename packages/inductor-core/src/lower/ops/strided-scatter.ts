/**
 * @file as_strided_scatter: each element of the result finds out whether the geometry covers its place in memory.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { numelOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { intList } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweringCall } from '../registry.js';
import { replaced } from './scatter.js';
import { delinearize } from './view-maps.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Dimensions that move, widest stride first, if each stride is beyond all that lies within it; else null. */
function nested(size: readonly number[], stride: readonly number[]): number[] | null {
  const order = size.map((_, d) => d).filter((d) => size[d]! > 1);
  order.sort((a, b) => stride[b]! - stride[a]!);
  let extent = 1;
  for (const d of [...order].reverse()) {
    if (stride[d]! < extent) return null;
    extent = (size[d]! - 1) * stride[d]! + extent;
  }
  return order;
}

/** The element of `src` that lies at memory position `place`: a division per dimension. */
function divided(
  l: Lowering,
  self: LoweredTensor,
  src: LoweredTensor,
  stride: readonly number[],
  order: readonly number[],
  place: Expr,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const int = (value: number): Expr => l.ir.const('int32', value);
  let hit = m.ge(place, 0);
  let rest = m.max(place, 0);
  const coords: IndexExpr[] = src.sizes.map(() => l.ir.int(0));
  for (const d of order) {
    const at = l.ir.op('floordiv', [rest, int(stride[d]!)]);
    hit = m.and(hit, m.lt(at, src.sizes[d]!));
    coords[d] = l.ir.value(m.min(at, src.sizes[d]! - 1));
    rest = l.ir.op('remainder', [rest, int(stride[d]!)]);
  }
  hit = m.and(hit, m.eq(rest, 0));
  const value = l.ir.cast(src.load(coords), self.dtype);
  return l.pointwise(self.sizes, m.where(hit, value, self.expr));
}

/** The last element of `src` at memory position `place`, by looking at all of them. */
function searched(
  l: Lowering,
  self: LoweredTensor,
  src: LoweredTensor,
  stride: readonly number[],
  place: Expr,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const source = l.freshVar('s', numelOf(src.sizes));
  const at = delinearize(l, source.index, src.sizes);
  const address = l.ir.add(...at.map((coord, d) => l.ir.scale(coord, stride[d]!)));
  const valueAt = (order: IndexExpr): Expr => src.load(delinearize(l, order, src.sizes));
  return replaced(l, self, {
    inner: source.vars,
    hits: m.eq(l.ir.index('int32', address), place),
    value: valueAt(source.index),
    order: source.index,
    valueAt,
  });
}

/** self, src, size, stride, storage_offset. */
const stridedScatter: LoweringOf<'aten::as_strided_scatter'> = (
  l,
  [x, src, size, stride, offset],
  call: LoweringCall,
) => {
  const sizes = intList(size);
  const strides = intList(stride);
  if (numelOf(sizes) === 0) return x;
  const values = readyOperand(l, src);
  const layout = call.results[0]!.layout;
  const position = l.ir.add(...l.vars(x.sizes).map((v, d) => l.ir.scale(v, layout[d]!)));
  const m = new ExprMath(l.ir);
  const place = m.sub(l.ir.index('int32', position), Number(offset ?? 0));
  const order = nested(sizes, strides);
  if (order === null && !affordable(l, numelOf(x.sizes), numelOf(sizes), numelOf(sizes)))
    return null;
  return order === null
    ? searched(l, x, values, strides, place)
    : divided(l, x, values, strides, order, place);
};

/** Lowerings by overload name. */
export const stridedScatterLowerings: LoweringTable = lowerings({
  'aten::as_strided_scatter': stridedScatter,
});
