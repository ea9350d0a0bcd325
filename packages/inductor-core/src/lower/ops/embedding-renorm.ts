/**
 * @file Rows of a table that are named and longer than a norm, scaled down to it.
 */
import { numelOf } from '@tessera/tensor/internal';
import { affordable } from '../affordable.js';
import { checkedIndices } from '../checked-value.js';
import { ExprMath } from '../expr-math.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { normOver } from './distance.js';
import { usesOfRows } from './embedding-backward.js';

/** How far beyond the norm a row is scaled back, as the reference kernel does. */
const MARGIN = 1e-7;

/** self, indices, max_norm, norm_type. */
const renorm: LoweringOf<'aten::embedding_renorm'> = (l, [self, given, maxNorm, type], call) => {
  const table = readyOperand(l, self);
  const [rows, width] = table.sizes;
  const list = readyOperand(l, given);
  const count = numelOf(list.sizes);
  if (numelOf(call.sizes) === 0 || count === 0) return table;
  if (!affordable(l, rows, count, count)) return null;
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(call.dtype);
  const uses = usesOfRows(l, checkedIndices(l, 'embedding_renorm_', list, rows), rows);
  const [row] = l.vars([rows]);
  const norm = normOver(l, [rows], width, Number(type), (k) => m.cast(table.load([row!, k]), acc));
  const most = Number(maxNorm);
  const scales = l.pointwise(
    [rows],
    m.where(m.and(m.gt(uses.expr, 0), m.gt(norm, most)), m.div(most, m.add(norm, MARGIN)), 1),
  );
  scales.realize();
  const scale = scales.load([l.vars(call.sizes)[0]!]);
  return l.pointwise(call.sizes, m.cast(m.mul(m.cast(table.expr, acc), scale), call.dtype));
};

/** Lowerings by overload name. */
export const embeddingRenormLowerings: LoweringTable = lowerings({
  'aten::embedding_renorm': renorm,
});
