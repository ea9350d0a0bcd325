/**
 * @file Which values of a recorded call look like state that the program keeps to itself, for calls that find it there.
 *
 * What it makes and then writes to is returned from the first call on. State that is another tensor after every call
 * (`h = h.mul(0.9).add(x)`) is known when the next call reads it: until then it must exist, so that the call
 * that records such a program runs operator by operator.
 */
import type { Node } from '@tessera/graph';
import { OpOverload, type Tensor, isTensor } from '@tessera/tensor';
import type { Recorder } from '../cursor/recorder.js';
import type { Segment } from '../trace/segment.js';

/** Operators that fill new memory. */
const FILLING = /::(new_)?(zeros|ones|full|empty)(_like|_strided)?\b/;

function isFilled({ target }: Node): boolean {
  return target instanceof OpOverload && FILLING.test(target.qualifiedName);
}

/**
 * Whether a value looks like state that the program begins: without gradients, and a copy, or filled and then written
 * to. (Dead ends, which nothing uses, somebody may have kept too.)
 */
export function isState(node: Node, { writers }: Segment): boolean {
  const { target, meta } = node;
  const value = meta.val as Tensor;
  if (!(target instanceof OpOverload) || value.requiresGradFlag) return false;
  return (
    target.qualifiedName.startsWith('aten::clone') || (isFilled(node) && writers.has(value.storage))
  );
}

/**
 * Whether a value that is not returned looks like state that takes the place of older state: it is made of a tensor
 * that nothing known holds, or that the program filled, and is as large.
 */
export function holdsState(
  { options: { sources }, frame }: Recorder,
  { graph, inputs, outputs, mutated, produced, visible, writers }: Segment,
): boolean {
  const made = new Set<unknown>();
  const kinds = new Set<string>();
  const begin = (node: Node): void => {
    made.add(node);
    kinds.add(kindOf(node.meta.val as Tensor));
  };
  graph.placeholders.forEach((node, i) => {
    const { slot } = inputs[i]!;
    if (slot < 0 || mutated.includes(slot)) return;
    const tensor = frame.slots[slot]!;
    if (!tensor.requiresGrad && !sources.knows(tensor)) begin(node);
  });
  for (const node of graph.nodes) {
    if (isFilled(node) && !writers.has((node.meta.val as Tensor).storage)) begin(node);
    else if (node.allInputNodes().some((input) => made.has(input))) made.add(node);
  }
  return [...visible].some((slot) => {
    const node = produced.get(slot);
    return (
      node !== undefined &&
      made.has(node) &&
      !outputs.includes(slot) &&
      isTensor(node.meta.val) &&
      !isFilled(node) &&
      kinds.has(kindOf(node.meta.val))
    );
  });
}

function kindOf({ dtype, device, sizes }: Tensor): string {
  return `${dtype} ${device} ${sizes.join()}`;
}
