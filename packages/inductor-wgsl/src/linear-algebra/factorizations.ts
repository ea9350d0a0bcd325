/**
 * @file Factorizations of batches of matrices on WebGPU: what the operators of linear algebra are made of there.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  diagonal,
  empty,
  eye,
  matmul,
  narrow,
  ones,
  prod,
  tril,
  zeros,
} from '@tessera/tensor';
import type { OwnCheck } from '../runtime/device/check-report.js';
import type { WgpuRuntime } from '../runtime/device/wgpu-runtime.js';
import { CHOLESKY } from './cholesky.js';
import { APPLY_REFLECTIONS, REFLECTION, REFLECT_COLUMNS } from './householder.js';
import { LU, SWAP_ROWS } from './lu.js';
import { runMatrixCode } from './matrix-program.js';
import { COLUMNS, SOLVE_TRIANGLE } from './triangular.js';

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

/** Rows and columns of a block that one workgroup factors; the rest of the work is products. */
const BLOCK = 32;

/** Blocks along `n` rows. */
function blocks(n: number): (readonly [at: number, size: number])[] {
  return Array.from({ length: Math.ceil(n / BLOCK) }, (_, i) => [
    i * BLOCK,
    Math.min(BLOCK, n - i * BLOCK),
  ]);
}

/** A view of a block. */
const block = (x: Tensor, row: number, rows: number, column: number, columns: number): Tensor =>
  narrow(narrow(x, -2, row, rows), -1, column, columns);

/** Overwrites the lower triangles of matrices with their Cholesky factors, and what is above with zeros. */
export function choleskyFactor(
  runtime: WgpuRuntime,
  a: Tensor,
  info: Tensor,
  check: OwnCheck | null,
): void {
  const n = a.sizes.at(-1)!;
  info.zero_();
  for (const [at, size] of blocks(n)) {
    const end = at + size;
    const corner = block(a, at, size, at, size);
    runMatrixCode(runtime, CHOLESKY, [corner, info], {
      count: countOf(a),
      launches: [[size, at]],
      check: end === n ? check : null,
    });
    if (end === n) break;
    // X Lᵀ = B is L Xᵀ = Bᵀ.
    const below = block(a, end, n - end, at, size);
    solveTriangle(runtime, corner.clone(), turned(below), { upper: false, unit: false });
    block(a, end, n - end, end, n - end).sub_(matmul(below, turned(below)));
  }
  a.copy_(tril(a));
}

/** Overwrites matrices with their LU factors. */
export function factor(
  runtime: WgpuRuntime,
  [lu, pivots, info]: readonly [lu: Tensor, pivots: Tensor, info: Tensor],
  { pivot = true, check = null }: { pivot?: boolean; check?: OwnCheck | null } = {},
): void {
  const [m, n] = matrixSizes(lu);
  const k = Math.min(m, n);
  const count = countOf(lu);
  info.zero_();
  for (const [at, size] of blocks(k)) {
    const end = at + size;
    const swaps = narrow(pivots, -1, at, size);
    runMatrixCode(runtime, LU, [block(lu, at, m - at, at, size), swaps, info], {
      count,
      launches: [[m - at, size, Number(pivot), at]],
      check: end === k ? check : null,
    });
    for (const [column, columns] of [
      [0, at],
      [end, n - end],
    ]) {
      if (columns === 0 || !pivot) continue;
      const beside = block(lu, at, m - at, column, columns);
      runMatrixCode(runtime, SWAP_ROWS, [beside, swaps], {
        count,
        launches: [[size, columns, at]],
      });
    }
    if (end === n) break;
    const right = block(lu, at, size, end, n - end);
    const corner = block(lu, at, size, at, size).clone();
    solveTriangle(runtime, corner, right, { upper: false, unit: true });
    if (end < m)
      block(lu, end, m - end, end, n - end).sub_(matmul(block(lu, end, m - end, at, size), right));
  }
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
  const whole = inOnePiece(a);
  const order = upper ? blocks(n).reverse() : blocks(n);
  for (const [at, size] of order) {
    const here = narrow(b, -2, at, size);
    runMatrixCode(runtime, SOLVE_TRIANGLE, [block(whole, at, size, at, size), here], {
      count: countOf(b),
      parts: Math.ceil(width / COLUMNS),
      launches: [[size, width, Number(upper), Number(unit)]],
    });
    const [from, rows] = upper ? [0, at] : [at + size, n - at - size];
    if (rows > 0) narrow(b, -2, from, rows).sub_(matmul(block(whole, from, rows, at, size), here));
  }
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
  runMatrixCode(runtime, SWAP_ROWS, [b, swaps], { count: countOf(b), launches: [[n, width, 0]] });
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
  // As PyTorch does: row-major matrices are factored as they lie in memory, transposed.
  const [lu, pivots] = factored(runtime, x.isContiguous() ? turned(x) : x);
  outs?.[0].copy_(lu);
  outs?.[1].copy_(pivots);
  return [diagonal(lu, 0, -2, -1), swapSigns(pivots)];
}

/** Determinants; the factors that they are made of go to `outs`. */
export function determinants(
  runtime: WgpuRuntime,
  x: Tensor,
  outs: readonly [lu: Tensor, pivots: Tensor] | null = null,
): Tensor {
  const [values, sign] = determinantParts(runtime, x, outs);
  return prod(values, -1).mul(sign);
}

/** Overwrites matrices with R and the reflections below it. */
export function reflect(runtime: WgpuRuntime, a: Tensor, tau: Tensor): void {
  const [m, n] = matrixSizes(a);
  const count = countOf(a);
  for (let k = 0; k < Math.min(m, n); k++) {
    runMatrixCode(runtime, REFLECTION, [a, tau], { count, launches: [[m, k]] });
    const parts = n - k - 1;
    runMatrixCode(runtime, REFLECT_COLUMNS, [a, tau], { count, parts, launches: [[m, n, k]] });
  }
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
  runMatrixCode(runtime, APPLY_REFLECTIONS, [packed, tau, q], {
    count: countOf(x),
    parts: columns,
    launches: [[m, Math.min(m, n)]],
  });
  return [packed, q];
}
