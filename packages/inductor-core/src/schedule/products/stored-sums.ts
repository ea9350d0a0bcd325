/**
 * @file Sums that are made where they are stored: in a buffer, in rows of whole vectors.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import { coefficientOf } from '../../ir/linear-form.js';
import { sum, times, variable, whole } from '../kernel/places.js';
import { lanesOf } from './block-layouts.js';
import { flatStride, stridesOf } from './flat-stride.js';
import type { OrientedProduct } from './oriented-product.js';

/** See the file header. */
export interface StoredSums {
  readonly to: string;
  /** Elements from a row to the next. */
  readonly row: number;
  /** The element of row `row` and column `col` of an entry of the batch. */
  readonly place: IndexExpr;
}

/** Where sums are made, or null unless the epilogue is one plain store of whole vectors of the product. */
export function storedSums(product: OrientedProduct): StoredSums | null {
  const { kernel, space, batch, a, b, colCount } = product;
  const { accDtype: dtype } = kernel;
  const [stmt, ...others] = kernel.epilogue;
  if (others.length > 0 || stmt?.kind !== 'store' || stmt.value.kind !== 'acc') return null;
  const index = stridesOf(space, stmt.index);
  if (index === null) return null;
  if (kernel.params.find(({ name }) => name === stmt.buf)?.dtype !== dtype) return null;
  const row = flatStride(index, a.lines);
  if (typeof row !== 'number' || row < 0 || flatStride(index, b.lines) !== 1) return null;
  if (typeof colCount !== 'number' || colCount % lanesOf(dtype) !== 0) return null;
  const entry = batch.flatMap(({ name }) => {
    const stride = coefficientOf(index, name);
    return stride === 0 ? [] : times(variable(name), stride);
  });
  const line = [times(variable('row'), row), variable('col')];
  return { to: stmt.buf, row, place: sum(whole(index.constant), ...entry, ...line) };
}
