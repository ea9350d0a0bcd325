/**
 * @file Columns whose elements are parts of what is loaded, such as weights of few bits, several to a word.
 *
 * The last digit of k says which part an element is, and no load depends on it. So what is loaded for one element serves
 * all parts, which are evaluated with the digit as a constant.
 */
import { IrBuilder } from '../../ir/build.js';
import type { Expr } from '../../ir/expr.js';
import { indexSymbols, indexValues, postorder } from '../../ir/walk.js';
import type { WordParts } from '../kernel/blocks.js';
import type { BlockSizes } from './block-sizes.js';
import { mergedSpace } from './merged-space.js';
import type { OrientedProduct } from './oriented-product.js';

/** More parts would be more code than they are worth. */
const MOST_PARTS = 8;

/** Whether an expression may be evaluated for several k at once, from the same loads. */
function loadsAll(expr: Expr, part: string): boolean {
  return postorder([expr]).every((each) => {
    if (each.kind === 'load')
      return indexValues(each.index).length === 0 && !indexSymbols(each.index).has(part);
    return ['op', 'const', 'index', 'scalar'].includes(each.kind);
  });
}

/** See the file header; null where there are none, or blocks of k end within a word. */
export function wordParts(
  { kernel, batch, b, depth, colCount }: OrientedProduct,
  { depthBlock }: Pick<BlockSizes, 'depthBlock'>,
): WordParts | null {
  const [part, ...rest] = depth.toReversed();
  if (typeof colCount !== 'number' || kernel.accDtype !== 'float32') return null;
  if (b.plain !== null || part === undefined || rest.length === 0) return null;
  const { name, size } = part;
  if (typeof size !== 'number' || size < 2 || size > MOST_PARTS || depthBlock % size !== 0)
    return null;
  if (!loadsAll(b.expr, name)) return null;
  // One builder for all: what they share is then evaluated once.
  const ir = new IrBuilder();
  const exprs = Array.from({ length: size }, (_, i) =>
    ir.rewrite([b.expr], { symbol: (each) => (each === name ? ir.int(i) : undefined) }),
  ).flat();
  const words = rest.toReversed();
  const [lines] = mergedSpace([b.lines, words], batch, exprs, []).lists;
  return lines!.length > 1 ? null : { exprs, words };
}
