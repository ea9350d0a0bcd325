/**
 * @file Products with up to three rows (after orientation): matrix times vector and the like.
 *
 * Every element of B is used once or a few times, so the work is reading B: it is not packed, but evaluated where it is
 * used. If B is adjacent along k (a linear layer's weights), each column is a dot product with vectors along k; if it is
 * adjacent along the columns, rows of B are scaled and added up, a few k at a time so that the sums are touched less often.
 * Sums go to scratch memory, from which the epilogue stores.
 */
import { itemSize } from '@tessera/tensor';
import type { BlockLayout, BlockRange } from '../kernel/blocks.js';
import { minus, modulo, over, times, variable, whole } from '../kernel/places.js';
import type { ScheduledKernel, ScratchArray } from '../kernel/scheduled-kernel.js';
import { define } from '../vectors/vector-loops.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import { roundUp, rowPitch } from './block-layouts.js';
import { rangeStores, SUMS } from './block-stores.js';
import { adjacency, mergedSpace } from './merged-space.js';
import type { OrientedProduct } from './oriented-product.js';
import { multiply, pack, PRODUCT } from './product-walk.js';

/** A product of known extents. */
export type KnownProduct = OrientedProduct &
  Record<'rowCount' | 'colCount' | 'depthCount' | 'batchCount', number>;

/** Most rows for which nothing is packed. */
const MOST_ROWS = 3;
/** Time to read one element of B, nearly all there is to do, in nanoseconds. */
const ELEMENT_NS = 0.12;

/** Whether a product has few rows, and extents that are known. */
export function isFewRows(product: OrientedProduct): product is KnownProduct {
  const { rowCount, colCount, depthCount, batchCount } = product;
  return (
    typeof rowCount === 'number' &&
    rowCount <= MOST_ROWS &&
    [colCount, depthCount, batchCount].every((count) => typeof count === 'number')
  );
}

/** See the file header. */
export function scheduleFewRows(
  product: KnownProduct,
  { nearBytes }: Pick<VectorTarget, 'nearBytes'>,
): ScheduledKernel {
  const { kernel, batch, depth, a, b, rowCount, colCount, depthCount, batchCount } = product;
  const { accDtype: dtype } = kernel;
  const bytes = itemSize(dtype);
  const along = vectorsAlong(product);
  const colBlock =
    along === 'steps'
      ? Math.min(256, roundUp(Math.ceil(colCount / 16), 8))
      : Math.min(4096, Math.max(128, roundUp(Math.ceil(colCount / 4), 8)));
  const pitch = roundUp(colBlock, 8) + 8;
  const length = rowCount * pitch + 64 / bytes;
  const stores = rangeStores(product, colBlock, pitch);
  // An element of A that is more than a load would be computed again for every few columns.
  const rowLength = rowCount * rowPitch(depthCount) + 64 / bytes;
  const isKept = along === 'steps' && a.plain === null && rowLength * bytes <= nearBytes;
  const evaluated: BlockLayout = { kind: 'evaluated', along };
  const kept = { kind: 'rows', order: 'steps', array: 'rows', lines: rowCount } as const;
  const scratch: ScratchArray[] = [{ name: SUMS, dtype, length }];
  if (isKept) scratch.push({ name: kept.array, dtype, length: rowLength });
  const count = Math.ceil(colCount / colBlock);
  const steps: BlockRange = [whole(0), whole(depthCount)];
  const rows: BlockRange = [whole(0), whole(rowCount)];
  const columns: BlockRange = [variable('col'), variable('cols')];
  const item = variable('item');
  return {
    kernel,
    loops: stores.loops,
    grid: {
      name: 'item',
      extent: batchCount * count,
      nanoseconds: Math.min(colBlock, colCount) * depthCount * ELEMENT_NS * (bytes / 4),
    },
    shared: [],
    accumulators: [],
    scratch,
    products: [
      {
        name: PRODUCT,
        a: {
          lines: a.lines,
          value: a.expr,
          layout: isKept ? { ...kept, steps: depthCount } : evaluated,
        },
        b: { lines: b.lines, value: b.expr, layout: evaluated },
        batch,
        steps: depth,
        // Of several rows, fewer at a time leave registers for elements of A.
        tile: { rows: rowCount, vectors: rowCount === 1 ? 4 : 2 },
        ends: [rowCount, colCount],
        to: SUMS,
        row: pitch,
      },
    ],
    routines: [stores.routine],
    body: [
      define('batch', over(item, count)),
      define('col', times(modulo(item, count), colBlock)),
      define('cols', minus(whole(colCount), variable('col')), colBlock),
      pack('a', [rows], steps),
      pack('b', [columns], steps),
      multiply([rows[1], columns[1], steps[1]], whole(0), whole(0)),
      stores.visit(variable('batch'), rows, whole(0)),
    ],
  };
}

/** Along what B is adjacent. */
function vectorsAlong({ a, b, batch, depth }: KnownProduct): 'lines' | 'steps' {
  const { space, lists } = mergedSpace([a.lines, b.lines, depth], batch, [a.expr, b.expr], []);
  const [column, step] = lists.slice(1).map((list) => adjacency(b.expr, space, list.at(-1)!.name));
  return step! > column! ? 'steps' : 'lines';
}
