/**
 * @file Factorizations of batches of matrices on WebGPU: what the operators of linear algebra are made of there.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  cat,
  diagonal,
  empty,
  eye,
  gather,
  narrow,
  ones,
  sort,
  sqrt,
  tril,
  where,
  zeros,
} from '@tessera/tensor';
import type { OwnCheck } from '../runtime/device/check-report.js';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';
import { APPLY_REFLECTIONS, REFLECT } from './householder.js';
import { ONE_SIDED_JACOBI, SYMMETRIC_JACOBI } from './jacobi.js';
import { LU, SWAP_ROWS } from './lu.js';
import { runMatrixCode } from './matrix-program.js';
import { SOLVE_TRIANGLE } from './triangular.js';

/** The transposed matrices, a view. */
export const turned = (x: Tensor): Tensor => x.transpose(-2, -1);

/** Rows and columns. */
export function matrixSizes(x: Tensor): readonly [m: number, n: number] {
  const [m, n] = x.sizes.slice(-2);
  return [m, n];
}

/** Number of matrices in a batch. */
export function countOf(x: Tensor): number {
  return x.sizes.slice(0, -2).reduce((count, size) => count * size, 1);
}

/** Identity matrices of a batch, in memory of their own. */
export function identities(batch: readonly number[], m: number, n: number): Tensor {
  return eye(m, n, { device: 'wgpu' })
    .expand([...batch, m, n])
    .clone({ memoryFormat: 'contiguous' });
}

/** The matrices where each lies in one piece: as they are, or copied. */
function inOnePiece(x: Tensor): Tensor {
  return x.isContiguous() || turned(x).isContiguous() ? x : x.contiguous();
}

/** Symmetric matrices of which one triangle counts. */
export function mirrored(x: Tensor, upper: boolean): Tensor {
  const lower = upper ? turned(x) : x;
  return tril(lower).add(turned(tril(lower, -1)));
}

/** What is reported of a matrix that an operator cannot do; % in the problem stands for what LAPACK calls `info`. */
export function matrixCheck(op: string, problem: string, hint: string): OwnCheck {
  return {
    text: op,
    error: (info) =>
      new TesseraError('linalg-error', `${op}: ${problem.replaceAll('%', String(info))}`, {
        context: { info },
        hints: [hint],
      }),
  };
}

/** Overwrites matrices with their LU factors. */
export function factor(
  runtime: WgpuRuntime,
  [lu, pivots, info]: readonly [lu: Tensor, pivots: Tensor, info: Tensor],
  { pivot = true, check = null }: { pivot?: boolean; check?: OwnCheck | null } = {},
): void {
  const [m, n] = matrixSizes(lu);
  runMatrixCode(runtime, LU, [lu, pivots, info], [m, n, Number(pivot)], countOf(lu), check);
}

/** LU factors of copies of square matrices. */
export function factored(
  runtime: WgpuRuntime,
  x: Tensor,
  check: OwnCheck | null = null,
): readonly [lu: Tensor, pivots: Tensor] {
  const [m, n] = matrixSizes(x);
  const batch = x.sizes.slice(0, -2);
  const options = { dtype: 'int32', device: 'wgpu' } as const;
  const made = [
    x.clone({ memoryFormat: 'contiguous' }),
    zeros([...batch, Math.min(m, n)], options),
    zeros(batch, options),
  ] as const;
  factor(runtime, made, { check });
  return [made[0], made[1]];
}

/** Overwrites `b` with the solutions of systems with triangular matrices, whose batch is that of `b`. */
export function solveTriangle(
  runtime: WgpuRuntime,
  a: Tensor,
  b: Tensor,
  { upper, unit }: { upper: boolean; unit: boolean },
): void {
  const [n, width] = matrixSizes(b);
  const params = [n, width, Number(upper), Number(unit)];
  runMatrixCode(runtime, SOLVE_TRIANGLE, [inOnePiece(a), b], params, countOf(b));
}

/** Overwrites `b` with the solutions of systems whose matrices were factored; `b` may have a larger batch. */
export function solveFactored(
  runtime: WgpuRuntime,
  [lu, pivots]: readonly [lu: Tensor, pivots: Tensor],
  b: Tensor,
): void {
  const [n, width] = matrixSizes(b);
  const batch = b.sizes.slice(0, -2);
  const factors = lu.expand([...batch, n, n]);
  const swaps = pivots.expand([...batch, n]).contiguous();
  runMatrixCode(runtime, SWAP_ROWS, [b, swaps], [n, width], countOf(b));
  solveTriangle(runtime, factors, b, { upper: false, unit: true });
  solveTriangle(runtime, factors, b, { upper: true, unit: false });
}

/** Signs of row swaps: 1 or -1 for each matrix. */
function swapSigns(pivots: Tensor): Tensor {
  const places = ones(pivots.sizes, { dtype: 'int32', device: 'wgpu' }).cumsum(-1);
  const swaps = pivots.ne(places).to('float32').sum(-1);
  return swaps.remainder(2).mul(-2).add(1);
}

/** The diagonal of U and the sign of the swaps, of whose product determinants are made. */
export function determinantParts(
  runtime: WgpuRuntime,
  x: Tensor,
  outs: readonly [lu: Tensor, pivots: Tensor] | null = null,
): readonly [diagonal: Tensor, sign: Tensor] {
  const [lu, pivots] = factored(runtime, x);
  outs?.[0].copy_(lu);
  outs?.[1].copy_(pivots);
  return [diagonal(lu, 0, -2, -1), swapSigns(pivots)];
}

/** Overwrites matrices with R and the reflections below it. */
export function reflect(runtime: WgpuRuntime, a: Tensor, tau: Tensor): void {
  runMatrixCode(runtime, REFLECT, [a, tau], matrixSizes(a), countOf(a));
}

/** QR factors of copies of matrices: R with the reflections below it, and Q with so many columns. */
export function qrFactors(
  runtime: WgpuRuntime,
  x: Tensor,
  columns: number,
): readonly [packed: Tensor, q: Tensor] {
  const [m, n] = matrixSizes(x);
  const batch = x.sizes.slice(0, -2);
  const packed = x.clone({ memoryFormat: 'contiguous' });
  const tau = empty([...batch, Math.min(m, n)], { device: 'wgpu' });
  reflect(runtime, packed, tau);
  const q = identities(batch, m, columns);
  const params = [m, Math.min(m, n), columns];
  runMatrixCode(runtime, APPLY_REFLECTIONS, [packed, tau, q], params, columns > 0 ? countOf(x) : 0);
  return [packed, q];
}

/** Columns of matrices in another order. */
function inOrder(x: Tensor, order: Tensor): Tensor {
  return gather(x, -1, order.unsqueeze(-2).expand(x.sizes));
}

/** Ascending eigenvalues of symmetric matrices, and the eigenvectors as columns. */
export function symmetricEigen(
  runtime: WgpuRuntime,
  x: Tensor,
): readonly [values: Tensor, vectors: Tensor] {
  const n = x.sizes.at(-1)!;
  const batch = x.sizes.slice(0, -2);
  const work = x.clone({ memoryFormat: 'contiguous' });
  const vectors = identities(batch, n, n);
  const turns = empty([...batch, Math.ceil(n / 2), 2], { device: 'wgpu' });
  runMatrixCode(runtime, SYMMETRIC_JACOBI, [work, vectors, turns], [n], countOf(x));
  const [values, order] = sort(diagonal(work, 0, -2, -1), -1);
  return [values, inOrder(vectors, order)];
}

/** Singular values, descending, and the vectors of both sides as columns; without `vectors` the values only. */
export function singularValues(
  runtime: WgpuRuntime,
  x: Tensor,
  vectors: 'none' | 'reduced' | 'full',
): readonly [u: Tensor | null, s: Tensor, v: Tensor | null] {
  if (x.sizes.at(-2)! < x.sizes.at(-1)!) {
    const [u, s, v] = singularValues(runtime, turned(x), vectors);
    return [v, s, u];
  }
  const [m, n] = matrixSizes(x);
  const batch = x.sizes.slice(0, -2);
  const work = x.clone({ memoryFormat: 'contiguous' });
  const right = identities(batch, n, n);
  runMatrixCode(runtime, ONE_SIDED_JACOBI, [work, right], [m, n], countOf(x));
  const lengths = sqrt(work.mul(work).sum(-2));
  const [s, order] = sort(lengths, -1, { descending: true });
  if (vectors === 'none') return [null, s, null];
  // Columns that are 0 have no direction: reflections complete the basis, and R says which way the others point.
  const columns = vectors === 'full' ? m : n;
  const [packed, q] = qrFactors(runtime, inOrder(work, order), columns);
  const sign = where(diagonal(packed, 0, -2, -1).lt(0), -1, 1)
    .to('float32')
    .unsqueeze(-2);
  const own = narrow(q, -1, 0, n).mul(sign);
  const u = columns === n ? own : cat([own, narrow(q, -1, n, columns - n)], -1);
  return [u, s, inOrder(right, order)];
}
