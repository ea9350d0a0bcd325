/**
 * @file Products and convolutions of the `com.microsoft` domain with an activation fused to their result.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, matmul } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { convolve } from './conv.js';
import { gemm } from './matmul.js';
import { type Activation, namedActivation } from './named-activation.js';

/** How many numbers `activation_params` has, by activation. */
const PARAMETER_COUNTS: Readonly<Record<string, number>> = {
  LeakyRelu: 1,
  Clip: 2,
  HardSigmoid: 2,
};

/** The activation of a convolution, its factors in one list. @throws onnx-invalid */
function listedActivation(call: NodeCall): Activation {
  const name = call.text('activation', '');
  const list = call.floats('activation_params') ?? [];
  if (name === '') return (x) => x;
  const count = PARAMETER_COUNTS[name] ?? 0;
  if (list.length !== count)
    call.fail(`activation_params has ${list.length} numbers, and ${name} takes ${count}`);
  return namedActivation(call, name, { alpha: list[0], beta: list[1] });
}

/** The activation of a product, its factors in attributes of their own. @throws onnx-invalid */
function attributedActivation(call: NodeCall): Activation {
  const factor = (name: string): number | undefined =>
    call.hasAttribute(name) ? call.float(name) : undefined;
  return namedActivation(call, call.text('activation'), {
    alpha: factor('activation_alpha'),
    beta: factor('activation_beta'),
    gamma: factor('activation_gamma'),
  });
}

/** The activation of a convolution of x plus Z. */
function fusedConv(call: NodeCall): Tensor {
  const y = convolve(call, call.tensor(0), call.tensor(1), call.optional(2));
  const z = call.optional(3);
  return listedActivation(call)(z === null ? y : y.add(z));
}

/**
 * The same over images whose channels come last. Optimizers write the weights of `NhwcConv` with channels last too,
 * which is what its kernels take, while its definition says as `Conv` has them: where the numbers of channels tell.
 */
function channelsLastConv(call: NodeCall): Tensor {
  const x = call.tensor(0).movedim(-1, 1);
  const given = call.tensor(1);
  const isLast =
    call.node.type === 'NhwcConv' && given.size(-1) * call.int('group', 1) === x.shape[1];
  const weight = isLast ? given.movedim(-1, 1) : given;
  const y = convolve(call, x, weight, call.optional(2)).movedim(1, -1);
  const z = call.optional(3);
  return listedActivation(call)(z === null ? y : y.add(z));
}

/** A product of which operands may be transposed, also their first dimension with the batch; the result scaled. */
function fusedMatMul(call: NodeCall): Tensor {
  const operand = (input: number, side: 'A' | 'B'): Tensor => {
    let x = call.tensor(input);
    if (call.flag(`transBatch${side}`) && x.ndim > 2) x = x.movedim(0, -2);
    return call.flag(`trans${side}`) && x.ndim > 1 ? x.transpose(-1, -2) : x;
  };
  const y = matmul(operand(0, 'A'), operand(1, 'B'));
  const alpha = call.float('alpha', 1);
  return alpha === 1 ? y : y.mul(alpha);
}

/** x W, and gelu of the sum with a bias. */
function gemmFastGelu(call: NodeCall): Tensor {
  const y = matmul(call.tensor(0), call.tensor(1));
  const bias = call.optional(2);
  return F.gelu(bias === null ? y : y.add(bias), { approximate: 'tanh' });
}

/** Operators of the `com.microsoft` domain with one output. */
export const contribFused: OperatorTable = {
  FusedConv: fusedConv,
  NhwcConv: channelsLastConv,
  NhwcFusedConv: channelsLastConv,
  FusedGemm: (call) => attributedActivation(call)(gemm(call)),
  FusedMatMul: fusedMatMul,
  TransposeMatMul: fusedMatMul,
  FusedMatMulActivation: (call) => attributedActivation(call)(fusedMatMul(call)),
  GemmFastGelu: gemmFastGelu,
};
