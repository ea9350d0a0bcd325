/**
 * @file The gradients of a recorded `backward()` as values of the graph that leaves may keep.
 *
 * Eager autograd gives every leaf a gradient with memory of its own, laid out like the leaf. What the engine made on
 * fake tensors tells where the graph must copy for that.
 */
import { type Argument, Node, tensorVal } from '@tessera/graph';
import { type Tensor, noGrad } from '@tessera/tensor';
import { getOp, gradientStrides, obeysLayout, withPreDispatchMode } from '@tessera/tensor/internal';
import type { Recorder } from '../cursor/recorder.js';
import { runOnFakes } from '../cursor/run-on-fakes.js';

/** The nodes of gradients; one that shares memory or is laid out unlike its leaf is copied, as eager does. */
export function ownGradients(
  recorder: Recorder,
  items: readonly (Node | null)[],
  leaves: readonly Tensor[],
  createGraph: boolean,
): (Node | null)[] {
  const seen = new Set<unknown>();
  return items.map((item, i) => {
    if (item === null) return null;
    const fake = tensorVal(item)!;
    const shared =
      fake.base !== null ||
      seen.has(fake.storage) ||
      fake.strides.some((stride, d) => stride === 0 && fake.sizes[d]! > 1) ||
      recorder.builder.slotOfFake(fake) !== undefined;
    seen.add(fake.storage);
    const leaf = leaves[i]!;
    if (!obeysLayout(fake, leaf)) {
      const strides = [...gradientStrides(leaf)];
      const layout = [[...leaf.sizes], strides, leaf.dtype, null, leaf.device, null];
      const empty = emit(recorder, 'aten::new_empty_strided', [item, ...layout], createGraph);
      return emit(recorder, 'aten::copy_', [empty, item, false], createGraph);
    }
    return shared ? emit(recorder, 'aten::clone', [item, null], createGraph) : item;
  });
}

/** Adds an op, which the program does not see. */
function emit(
  { builder }: Recorder,
  name: string,
  args: readonly Argument[],
  withHistory: boolean,
): Node {
  const op = getOp(name);
  const node = builder.graph.callFunction(op, args);
  const fakes = args.map((arg) => (arg instanceof Node ? arg.meta.val : arg));
  const run = (): Tensor => runOnFakes(op, fakes) as Tensor;
  node.meta = { val: withHistory ? run() : withPreDispatchMode(null, () => noGrad(run)) };
  return node;
}
