/**
 * @file Matrix products and determinants.
 */
import { det } from '@tessera/tensor/linalg';
import { type Tensor, einsum, matmul } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';

/** alpha · A B + beta · C */
export function gemm(call: NodeCall): Tensor {
  const flip = (x: Tensor, name: string): Tensor => (call.flag(name) ? x.t() : x);
  const [a, b] = [flip(call.tensor(0), 'transA'), flip(call.tensor(1), 'transB')];
  const [alpha, beta] = [call.float('alpha', 1), call.float('beta', 1)];
  const product = matmul(a, b);
  const scaled = alpha === 1 ? product : product.mul(alpha);
  if (!call.has(2) || beta === 0) return scaled;
  const c = call.tensor(2);
  return scaled.add(beta === 1 ? c : c.mul(beta));
}

/** Operators of the standard domain. */
export const products: OperatorTable = {
  MatMul: (call) => matmul(call.tensor(0), call.tensor(1)),
  Gemm: gemm,
  Einsum: (call) => einsum(call.text('equation'), ...call.tensors()),
  Det: (call) => det(call.tensor(0)),
};
