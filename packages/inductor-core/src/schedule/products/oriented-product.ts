/**
 * @file A matrix product as machines with vectors and caches see it: which side is broadcast, which side is vectors.
 *
 * `C[row, col] = Σ_k A(row, k) · B(k, col)`: elements of A are broadcast, B and C are read and written in
 * vectors along `cols`. Either of the kernel's m and n can play the rows; transposing the product costs
 * nothing but the choice. Columns should be the dimension along which the results are adjacent in
 * memory (a convolution's images: output channels become rows), and the long one of a skinny product.
 */
import { type Size, sizeHint } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import type { MatmulKernel } from '../../ir/kernel.js';
import { coefficientOf } from '../../ir/linear-form.js';
import { extent, moves } from '../../ir/loop-vars.js';
import { LoopSpace } from '../vectors/loop-space.js';
import type { PlainOperand } from '../kernel/blocks.js';
import { plainOperand } from './block-layouts.js';
import { stridesOf } from './flat-stride.js';
import { adjacency, mergedSpace } from './merged-space.js';

/** One side of the product. */
export interface ProductSide {
  readonly side: 'a' | 'b';
  readonly expr: Expr;
  /** Rows for A, columns for B. */
  readonly lines: readonly SizedLoop[];
  readonly plain: PlainOperand | null;
}

/** See the file header. */
export interface OrientedProduct {
  readonly kernel: MatmulKernel<Size>;
  /** In which indices are read. */
  readonly space: LoopSpace;
  readonly batch: readonly SizedLoop[];
  readonly depth: readonly SizedLoop[];
  readonly rowCount: Size;
  readonly colCount: Size;
  readonly depthCount: Size;
  readonly batchCount: Size;
  readonly a: ProductSide;
  readonly b: ProductSide;
}

/** Products with fewer columns than this are transposed if they have more rows. */
const MIN_COLS = 8;

/** Orients a kernel. */
export function oriented(kernel: MatmulKernel<Size>): OrientedProduct {
  const { batch, m, n, k: depth, params, accDtype } = kernel;
  const space = new LoopSpace([...batch, ...m, ...n, ...depth]);
  const isTransposed = shouldTranspose(kernel, space);
  const side = (name: 'a' | 'b'): ProductSide => {
    const [expr, lines] = (name === 'a') === isTransposed ? [kernel.b, n] : [kernel.a, m];
    const plain = plainOperand(expr, [lines, depth], params, accDtype, space);
    return { side: name, expr, lines, plain };
  };
  const [a, b] = [side('a'), side('b')];
  return {
    kernel,
    space,
    batch,
    depth,
    rowCount: extent(a.lines),
    colCount: extent(b.lines),
    depthCount: extent(depth),
    batchCount: extent(batch),
    a,
    b,
  };
}

function shouldTranspose(kernel: MatmulKernel<Size>, space: LoopSpace): boolean {
  const [m, n] = [sizeHint(extent(kernel.m)), sizeHint(extent(kernel.n))];
  const isSized = (vars: readonly SizedLoop[]): boolean => typeof extent(vars) !== 'number';
  // Columns whose number is known need no packing by expression.
  if (isSized(kernel.m) !== isSized(kernel.n)) {
    const known = isSized(kernel.m) ? n : m;
    if (known >= MIN_COLS) return isSized(kernel.n);
  }
  if (n < MIN_COLS || m < MIN_COLS) return n < MIN_COLS && m > n;
  if (sizeHint(extent(kernel.k)) >= MIN_DEPTH_FOR_RUNS) {
    const [aFits, bFits] = [
      fitsColumns(kernel, kernel.a, kernel.m),
      fitsColumns(kernel, kernel.b, kernel.n),
    ];
    if (aFits !== bFits) return aFits;
  }
  return adjacentStores(kernel, space, kernel.m) > adjacentStores(kernel, space, kernel.n);
}

/** From this many k on, reading operands in long vectors outweighs scattered stores. */
const MIN_DEPTH_FOR_RUNS = 64;

/**
 * Whether vectors can be filled along an operand's lines: not if its memory runs along k and its lines
 * are short runs, as those of an image under a 3×3 kernel (`c, kh, kw`) when weights get their gradient.
 * As rows, such an operand is packed along k.
 */
function fitsColumns(kernel: MatmulKernel<Size>, expr: Expr, lines: readonly SizedLoop[]): boolean {
  if (lines.filter(moves).length <= 1) return true;
  const { space, lists } = mergedSpace([lines, kernel.k], kernel.batch, [expr], []);
  const [line, depth] = lists.map((list) => list.at(-1)!);
  if (lists[0]!.length === 1 || sizeHint(line.size) >= 4) return true;
  return adjacency(expr, space, line.name) > adjacency(expr, space, depth.name);
}

/** How many stores run over adjacent elements when the last of `vars` advances. */
function adjacentStores(
  { epilogue }: MatmulKernel<Size>,
  space: LoopSpace,
  vars: readonly SizedLoop[],
): number {
  const last = vars.findLast(moves);
  if (last === undefined) return 0;
  let count = 0;
  for (const stmt of epilogue) {
    const form = stmt.kind === 'store' ? stridesOf(space, stmt.index) : null;
    if (form !== null && coefficientOf(form, last.name) === 1) count++;
  }
  return count;
}
