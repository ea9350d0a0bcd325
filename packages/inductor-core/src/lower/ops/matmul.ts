/**
 * @file Lowerings of matrix products. Bias, scaling and activation around them are pointwise values
 * that the scheduler fuses into the epilogue.
 */
import { readyOperand } from '../ready-operand.js';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
import { castTensor, operandArg, operandExpr } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype } from '../reduce.js';
import { type LoweredArg, RuntimeScalar } from '../registry.js';
import { numelOf, type Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** [M, K] @ [K, N] → [M, N]. */
export function matmul2d(
  l: Lowering,
  a: LoweredTensor,
  b: LoweredTensor,
  dtype: DType,
  layout: Shape | null = null,
): LoweredTensor {
  const [rows, inner] = a.shape;
  const columns = b.shape[1]!;
  const right = readyOperand(l, b);
  const matrix = {
    columns: columns as number,
    stored: numelOf(right.shape),
    at: (k: IndexExpr, n: IndexExpr) => right.load([k, n]),
  };
  const { factoredRows } = l.capabilities;
  const factored = layout === null ? (factoredRows?.product(l, a, matrix, dtype) ?? null) : null;
  if (factored !== null) return factored;
  const left = readyOperand(l, a);
  return contract(l, {
    shape: { batch: [], m: [rows], n: [columns], k: [inner] },
    a: (_, [m], [k]) => left.load([m!, k!]),
    b: (_, [k], [n]) => right.load([k!, n!]),
    sizes: [rows, columns],
    dtype,
    layout,
    coords: ({ m, n }) => [m[0]!, n[0]!],
    decode: ([m, n]) => ({ batch: [], m: [m!], n: [n!] }),
  });
}

/** [B, M, K] @ [B, K, N] → [B, M, N]. */
export function matmul3d(
  l: Lowering,
  a: LoweredTensor,
  b: LoweredTensor,
  dtype: DType,
): LoweredTensor {
  const [batch, rows, inner] = a.shape;
  const columns = b.shape[2]!;
  const left = readyOperand(l, a);
  const right = readyOperand(l, b);
  return contract(l, {
    shape: { batch: [batch], m: [rows], n: [columns], k: [inner] },
    a: ([i], [m], [k]) => left.load([i!, m!, k!]),
    b: ([i], [k], [n]) => right.load([i!, k!, n!]),
    sizes: [batch, rows, columns],
    dtype,
    layout: null,
    coords: (p) => [p.batch[0]!, p.m[0]!, p.n[0]!],
    decode: ([i, m, n]) => ({ batch: [i!], m: [m!], n: [n!] }),
  });
}

function isOne(arg: LoweredArg): boolean {
  return arg === undefined || arg === null || arg === 1 || arg === true;
}

function times(l: Lowering, value: Expr, factor: LoweredArg): Expr {
  if (isOne(factor)) return value;
  const scale =
    factor instanceof RuntimeScalar
      ? l.ir.cast(factor.expr, value.dtype)
      : l.ir.const(value.dtype, Number(factor));
  return l.ir.op('mul', [value, scale]);
}

/**
 * beta · self + alpha · product; self is not read when beta is 0. The product has the type of its sums: PyTorch rounds to
 * 16 bits once, behind the bias.
 */
function combined(
  l: Lowering,
  self: LoweredArg,
  product: LoweredTensor,
  beta: LoweredArg,
  alpha: LoweredArg,
  call: { readonly op: string; readonly dtype: DType },
): LoweredTensor {
  const scaled = times(l, product.expr, alpha);
  const bias = (): Expr => operandExpr(l, operandArg(self, call.op), product.shape, product.dtype);
  const sum = beta === 0 ? scaled : l.ir.op('add', [scaled, times(l, bias(), beta)]);
  return l.pointwise(product.shape, l.ir.cast(sum, call.dtype));
}

const mm: LoweringOf<'aten::mm'> = (l, [self, mat2], call) => matmul2d(l, self, mat2, call.dtype);

const bmm: LoweringOf<'aten::bmm'> = (l, [self, mat2], call) => matmul3d(l, self, mat2, call.dtype);

const addmm: LoweringOf<'aten::addmm'> = (l, [self, mat1, mat2, beta, alpha], call) =>
  combined(l, self, matmul2d(l, mat1, mat2, accumulateDtype(call.dtype)), beta, alpha, call);

const baddbmm: LoweringOf<'aten::baddbmm'> = (l, [self, batch1, batch2, beta, alpha], call) =>
  combined(l, self, matmul3d(l, batch1, batch2, accumulateDtype(call.dtype)), beta, alpha, call);

/** A vector as a matrix with one column. */
function column(l: Lowering, x: LoweredTensor): LoweredTensor {
  return x.view([x.shape[0]!, 1], [l.vars([x.shape[0]!, 1])[0]!]);
}

function matvec(
  l: Lowering,
  matrix: LoweredTensor,
  vector: LoweredTensor,
  dtype: DType,
): LoweredTensor {
  const product = matmul2d(l, matrix, column(l, vector), dtype);
  return product.view([matrix.shape[0]!], [l.vars([matrix.shape[0]!])[0]!, l.ir.int(0)]);
}

const mv: LoweringOf<'aten::mv'> = (l, [self, vec], call) => matvec(l, self, vec, call.dtype);

const addmv: LoweringOf<'aten::addmv'> = (l, [self, mat, vec, beta, alpha], call) =>
  combined(l, self, matvec(l, mat, vec, call.dtype), beta, alpha, call);

const dot: LoweringOf<'aten::dot' | 'aten::vdot'> = (l, [a, other], call) => {
  const row = a.view([1, a.shape[0]!], [l.vars([1, a.shape[0]!])[1]!]);
  return matvec(l, row, other, call.dtype).view([], [l.ir.int(0)]);
};

const addr: LoweringOf<'aten::addr'> = (l, [self, vec1, vec2, beta, alpha], call) => {
  const [a, b] = [castTensor(l, vec1, call.dtype), castTensor(l, vec2, call.dtype)];
  const [i, j] = l.vars(call.shape);
  const outer = l.pointwise(call.shape, l.ir.op('mul', [a.load([i!]), b.load([j!])]));
  return combined(l, self, outer, beta, alpha, call);
};

/** Lowerings by overload name. */
export const matmulLowerings: LoweringTable = lowerings({
  'aten::mm': mm,
  'aten::bmm': bmm,
  'aten::addmm': addmm,
  'aten::baddbmm': baddbmm,
  'aten::mv': mv,
  'aten::addmv': addmv,
  'aten::dot': dot,
  'aten::vdot': dot,
  'aten::addr': addr,
});
