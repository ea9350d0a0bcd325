/**
 * @file Folds batch norm in evaluation into the convolution before it.
 *
 * γ · (conv(x, W) + b - μ) / √(σ² + ε) + β is a convolution with other constants, if nobody else reads
 * the convolution's result. The new constants are emitted as operators, computed in float32 at least,
 * and folded by constant folding. Other uses of the same weights are not touched.
 */
import {
  type Argument,
  type GraphModule,
  Node,
  getItem,
  tensorVal,
  tensorVals,
} from '@tessera/graph';
import { findOp } from '@tessera/tensor/internal';
import type { Pass } from '../pass.js';
import { ConstantMath, along, hoistConstants, isConstantNode } from './constant-nodes.js';

// A page without these operators has no graph with them.
const CONVOLUTION = 'aten::convolution';
const BATCH_NORM = 'aten::_native_batch_norm_legit_no_training';

/** Folds batch norms; returns how many. */
export function foldConvBn(module: GraphModule): number {
  hoistConstants(module.graph);
  let folded = 0;
  for (const node of module.graph.nodes) {
    const conv = foldableConvolution(node);
    if (conv === null) continue;
    fold(module, node, conv);
    folded++;
  }
  return folded;
}

/** The pass. */
export const convBnFolding: Pass = {
  name: 'conv-bn-folding',
  run: (module) => foldConvBn(module) > 0,
};

function foldableConvolution(bn: Node): Node | null {
  if (bn.op !== 'call_function' || bn.target !== findOp(BATCH_NORM)) return null;
  const [conv, ...statistics] = bn.args.slice(0, 5);
  if (!(conv instanceof Node) || conv.target !== findOp(CONVOLUTION) || conv.users.size !== 1)
    return null;
  const [input, weight, bias, , , , transposed, , groups] = conv.args;
  // A convolution of constants is one; what follows it need not be known before it.
  if (isConstantNode(input)) return null;
  // The channels of a grouped transposed weight are not one dimension.
  if (transposed === true && groups !== 1) return null;
  const constants = [weight, bias, ...statistics].filter(
    (arg) => arg !== null && arg !== undefined,
  );
  if (!constants.every((constant) => isConstantNode(constant))) return null;
  if (tensorVal(conv)?.dtype !== tensorVals(bn)[0]?.dtype) return null;
  return [...bn.users.keys()].every((user) => user.target === getItem && user.args[1] === 0)
    ? conv
    : null;
}

function fold(module: GraphModule, bn: Node, conv: Node): void {
  const { graph } = module;
  const math = new ConstantMath(graph, conv);
  const [, gamma, beta, mean, variance, , eps] = bn.args as readonly [
    Node,
    Node | null,
    Node | null,
    Node,
    Node,
    number,
    number,
  ];
  const [input, weight, bias, ...geometry] = conv.args as readonly [
    Node,
    Node,
    Node | null,
    ...Argument[],
  ];
  const { dtype, ndim } = tensorVal(weight)!;
  const wide = dtype === 'float64' ? 'float64' : 'float32';
  const widen = (value: Node): Node => math.cast(value, wide);
  let scale = math.call('aten::rsqrt', math.call('aten::add.Tensor', widen(variance), eps, 1));
  if (gamma !== null) scale = math.call('aten::mul.Tensor', scale, widen(gamma));
  const channelDim = geometry[3] === true ? 1 : 0;
  const scaled = math.call(
    'aten::mul.Tensor',
    widen(weight),
    math.reshape(scale, along(channelDim, ndim)),
  );
  const centred =
    bias === null
      ? math.call('aten::neg', widen(mean))
      : math.call('aten::sub.Tensor', widen(bias), widen(mean), 1);
  let shift = math.call('aten::mul.Tensor', centred, scale);
  if (beta !== null) shift = math.call('aten::add.Tensor', shift, widen(beta), 1);
  conv.args = [input, math.cast(scaled, dtype), math.cast(shift, dtype), ...geometry];
  for (const item of [...bn.users.keys()]) {
    item.replaceAllUsesWith(conv);
    graph.eraseNode(item);
  }
  graph.eraseNode(bn);
}
