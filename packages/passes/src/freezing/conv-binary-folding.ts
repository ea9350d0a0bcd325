/**
 * @file Folds arithmetic with constants into the convolution before it: conv(x) · c, conv(x) + c, ….
 *
 * The constant is a number or varies along channels only. Nothing is folded that would change the result's
 * dtype (a float32 constant after a half convolution) or shape, or that others read unscaled.
 */
import { type Argument, type GraphModule, Node, tensorVal } from '@tessera/graph';
import { findOp, getOp } from '@tessera/tensor/internal';
import type { Pass } from '../pass.js';
import { sameLayout } from '../structural-key.js';
import { ConstantMath, along, hoistConstants, isConstantNode } from './constant-nodes.js';

type Kind = 'add' | 'sub' | 'mul' | 'div';

// A page without convolutions has no graph with them.
const CONVOLUTION = 'aten::convolution';
const KINDS: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  [getOp('aten::add.Tensor'), 'add'],
  [getOp('aten::sub.Tensor'), 'sub'],
  [getOp('aten::mul.Tensor'), 'mul'],
  [getOp('aten::div.Tensor'), 'div'],
]);

/** Folds arithmetic behind convolutions; returns how many nodes it removed. */
export function foldConvBinary(module: GraphModule): number {
  hoistConstants(module.graph);
  let folded = 0;
  for (const node of module.graph.nodes) {
    const kind = KINDS.get(node.target);
    if (node.op !== 'call_function' || kind === undefined) continue;
    const [conv, operand, alpha] = operandsOf(node, kind);
    if (conv === null || !isFoldable(node, conv, operand, kind)) continue;
    fold(conv, kind, operand, alpha);
    node.replaceAllUsesWith(conv);
    module.graph.eraseNode(node);
    folded++;
  }
  return folded;
}

/** The pass. */
export const convBinaryFolding: Pass = {
  name: 'conv-binary-folding',
  run: (module) => foldConvBinary(module) > 0,
};

function operandsOf(node: Node, kind: Kind): readonly [Node | null, Argument, number] {
  const [a, b, alpha] = node.args;
  const factor = typeof alpha === 'number' ? alpha : 1;
  if (isOnlyUse(a)) return [a, b, factor];
  // Sums and products may have the convolution on the right.
  if (isOnlyUse(b) && (kind === 'mul' || (kind === 'add' && factor === 1))) return [b, a, 1];
  return [null, null, 1];
}

function isOnlyUse(arg: Argument): arg is Node {
  return arg instanceof Node && arg.target === findOp(CONVOLUTION) && arg.users.size === 1;
}

function isFoldable(node: Node, conv: Node, operand: Argument, kind: Kind): boolean {
  const [input, weight, bias, , , , transposed, , groups] = conv.args;
  // A convolution of constants is one; what follows it need not be known before it.
  if (isConstantNode(input)) return false;
  if (!isConstantNode(weight) || (bias !== null && bias !== undefined && !isConstantNode(bias)))
    return false;
  if (transposed === true && groups !== 1) return false;
  const before = tensorVal(conv);
  const after = tensorVal(node);
  if (before === null || after === null || !sameLayout(before, after)) return false;
  // 0 · ∞ in a sum of products is not what it is behind the sum.
  if (typeof operand === 'number') return Number.isFinite(kind === 'div' ? 1 / operand : operand);
  if (!isConstantNode(operand)) return false;
  const sizes = tensorVal(operand)?.sizes ?? null;
  if (sizes === null || sizes.length > before.ndim) return false;
  const channels = before.sizes[1]!;
  return sizes.every((size, i) => {
    const dim = before.ndim - sizes.length + i;
    return size === 1 || (dim === 1 && size === channels);
  });
}

function fold(conv: Node, kind: Kind, operand: Argument, alpha: number): void {
  const math = new ConstantMath(conv.graph, conv);
  const [input, weight, bias, ...geometry] = conv.args as readonly [
    Node,
    Node,
    Node | null,
    ...Argument[],
  ];
  const val = tensorVal(conv)!;
  const { dtype } = val;
  const perChannel = (): Argument => {
    if (!(operand instanceof Node)) return operand;
    const vector = math.reshape(operand, [-1]);
    return tensorVal(vector)!.sizes[0] === 1
      ? math.call('aten::expand', vector, [val.sizes[1]!], false)
      : vector;
  };
  const constant = perChannel();
  let newWeight: Node = weight;
  let newBias: Node | null = bias;
  if (kind === 'mul' || kind === 'div') {
    const op = `aten::${kind}.Tensor`;
    const channelDim = geometry[3] === true ? 1 : 0;
    const factor =
      constant instanceof Node
        ? math.reshape(constant, along(channelDim, tensorVal(weight)!.ndim))
        : constant;
    newWeight = math.cast(math.call(op, weight, factor), dtype);
    newBias = bias === null ? null : math.cast(math.call(op, bias, constant), dtype);
  } else {
    const base =
      bias ?? math.call('aten::new_zeros', weight, [val.sizes[1]!], dtype, null, null, null);
    newBias = math.cast(math.call(`aten::${kind}.Tensor`, base, constant, alpha), dtype);
  }
  conv.args = [input, newWeight, newBias, ...geometry];
}
