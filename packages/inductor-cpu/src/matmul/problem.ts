/**
 * @file A matrix product as the generators see it: which side is broadcast, which side is vectors.
 *
 * `C[row, col] = Σ_k A(row, k) · B(k, col)`: elements of A are broadcast, B and C are read and written in
 * vectors along `cols`. Either of the kernel's m and n can play the rows; transposing the product costs
 * nothing but the choice. Columns should be the dimension along which the results are adjacent in
 * memory (a convolution's images: output channels become rows), and the long one of a skinny product.
 */
import { type Size, TesseraError, sizeHint } from '@tessera/shared';
import {
  type AttentionKernel,
  type Expr,
  LoopSpace,
  type LoopVar,
  type PlainOperand,
  type SizedLoop,
  type MatmulKernel,
  adjacency,
  coefficientOf,
  extent,
  mergedSpace,
  plainOperand,
  stridesOf,
} from '@tessera/inductor-core';
import type { SizeSlots } from '../body/size-slots.js';
import { elementType, type ElementType } from './element-type.js';

/** One side of the product. */
export interface Operand {
  readonly side: 'a' | 'b';
  readonly expr: Expr;
  /** Rows for A, columns for B. */
  readonly lines: readonly SizedLoop[];
  readonly plain: PlainOperand | null;
}

/** See the file header. */
export interface MatmulProblem {
  readonly kernel: MatmulKernel<Size> | AttentionKernel<Size>;
  readonly type: ElementType;
  /** In which indices are read. */
  readonly space: LoopSpace;
  readonly batch: readonly SizedLoop[];
  readonly rows: readonly SizedLoop[];
  readonly cols: readonly SizedLoop[];
  readonly depth: readonly SizedLoop[];
  readonly rowCount: Size;
  readonly colCount: Size;
  readonly depthCount: Size;
  readonly batchCount: Size;
  readonly sizes: SizeSlots;
  readonly a: Operand;
  readonly b: Operand;
}

/** A problem of known extents. */
export interface KnownProblem extends MatmulProblem {
  readonly batch: readonly LoopVar[];
  readonly rows: readonly LoopVar[];
  readonly cols: readonly LoopVar[];
  readonly depth: readonly LoopVar[];
  readonly rowCount: number;
  readonly colCount: number;
  readonly depthCount: number;
  readonly batchCount: number;
}

/** Whether all extents of a problem are known. */
export function isKnown(problem: MatmulProblem): problem is KnownProblem {
  const { rowCount, colCount, depthCount, batchCount } = problem;
  return [rowCount, colCount, depthCount, batchCount].every((count) => typeof count === 'number');
}

/** Products with fewer columns than this are transposed if they have more rows. */
const MIN_COLS = 8;

/** Orients a kernel. @throws kernel-missing when its accumulator type has no vector form */
export function matmulProblem(kernel: MatmulKernel<Size>, sizes: SizeSlots): MatmulProblem {
  const { batch, m, n, k, a, b } = kernel;
  const space = new LoopSpace([...batch, ...m, ...n, ...k]);
  const transposed = shouldTranspose(kernel, space);
  const [left, right] = [
    { expr: a, lines: m },
    { expr: b, lines: n },
  ];
  const sides = transposed ? { a: right, b: left } : { a: left, b: right };
  return problemOf({ kernel, depth: k, ...sides }, sizes, space);
}

/** Lines of an operand, and its elements. */
type Side = Pick<Operand, 'expr' | 'lines'>;

/** What is multiplied: rows and columns, summed over `depth`. */
export interface ProductSpec {
  readonly kernel: MatmulProblem['kernel'];
  readonly depth: readonly SizedLoop[];
  readonly a: Side;
  readonly b: Side;
}

/** A product in a given orientation. @throws kernel-missing when its accumulator type has no vector form */
export function problemOf(
  { kernel, depth, a, b }: ProductSpec,
  sizes: SizeSlots,
  space: LoopSpace = new LoopSpace([...kernel.batch, ...a.lines, ...b.lines, ...depth]),
): MatmulProblem {
  const type = elementType(kernel.accDtype);
  if (type === null) {
    throw new TesseraError(
      'kernel-missing',
      `cpu: kernel ${kernel.name}: matrix products in ${kernel.accDtype} are not supported.`,
      {
        hints: ['Use float32, float64, int32 or int64 operands.'],
      },
    );
  }
  const operand = (side: 'a' | 'b', { expr, lines }: Side): Operand => {
    const plain = plainOperand(expr, [lines, depth], kernel.params, type.dtype, space);
    return { side, expr, lines, plain };
  };
  return {
    kernel,
    type,
    space,
    batch: kernel.batch,
    rows: a.lines,
    cols: b.lines,
    depth,
    rowCount: extent(a.lines),
    colCount: extent(b.lines),
    depthCount: extent(depth),
    batchCount: extent(kernel.batch),
    sizes,
    a: operand('a', a),
    b: operand('b', b),
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
  const { space, lists } = mergedSpace([lines, kernel.k], kernel.batch, [expr], []);
  const [line, depth] = lists.map((list) => list[list.length - 1]);
  if (lists[0].length === 1 || sizeHint(line.size) >= 4) return true;
  return adjacency(expr, space, line.name) > adjacency(expr, space, depth.name);
}

/** How many stores run over adjacent elements when the last of `vars` advances. */
function adjacentStores(
  { epilogue }: MatmulKernel<Size>,
  space: LoopSpace,
  vars: readonly SizedLoop[],
): number {
  const last = vars.findLast((each) => each.size !== 1);
  if (last === undefined) return 0;
  let count = 0;
  for (const stmt of epilogue) {
    const form = stmt.kind === 'store' ? stridesOf(space, stmt.index) : null;
    if (form !== null && coefficientOf(form, last.name) === 1) count++;
  }
  return count;
}
