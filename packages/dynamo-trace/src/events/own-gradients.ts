/**
 * @file The gradients of a recorded `backward()` as values of the graph that leaves may keep.
 *
 * Eager autograd gives every leaf a gradient with memory of its own, laid out like the leaf. What the engine made on
 * fake tensors tells where the graph must copy for that.
 */
import { type Argument, type Node, getItem } from '@tessera/graph';
import { type Tensor, noGrad } from '@tessera/tensor';
import { getOp, gradientStrides, obeysLayout, withPreDispatchMode } from '@tessera/tensor/internal';
import type { Recorder } from '../cursor/recorder.js';
import { runOnFakes } from '../cursor/run-on-fakes.js';

/** A value of the graph. */
export interface Emitted {
  readonly node: Node;
  readonly fake: Tensor;
}

/** A gradient's node and fake tensor; one that shares memory or is laid out unlike its leaf is copied, as eager does. */
export function ownGradients(
  recorder: Recorder,
  fakes: readonly Tensor[],
  leaves: readonly Tensor[],
  node: Node,
  createGraph: boolean,
): Emitted[] {
  const { graph } = recorder.builder;
  const seen = new Set<unknown>();
  node.meta.val = fakes;
  return fakes.map((fake, i) => {
    const item = graph.callFunction(getItem, [node, i]);
    item.meta = { val: fake };
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
      const value = { node: item, fake };
      const empty = emit(recorder, 'aten::new_empty_strided', [value, ...layout], createGraph);
      return emit(recorder, 'aten::copy_', [empty, value, false], createGraph);
    }
    return shared
      ? emit(recorder, 'aten::clone', [{ node: item, fake }, null], createGraph)
      : { node: item, fake };
  });
}

/** Adds an op; its first arguments may be values. */
function emit(
  recorder: Recorder,
  name: string,
  args: readonly (Emitted | Argument)[],
  withHistory: boolean,
): Emitted {
  const op = getOp(name);
  const isEmitted = (arg: Emitted | Argument): arg is Emitted =>
    typeof arg === 'object' && arg !== null && 'fake' in arg;
  const node = recorder.builder.graph.callFunction(
    op,
    args.map((arg) => (isEmitted(arg) ? arg.node : arg)),
  );
  const fakes = args.map((arg) => (isEmitted(arg) ? arg.fake : arg));
  const run = (): Tensor => runOnFakes(op, fakes) as Tensor;
  const fake = withHistory ? run() : withPreDispatchMode(null, () => noGrad(run));
  node.meta = { val: fake };
  return { node, fake };
}
