/**
 * @file Products of one value with several constant weights become one product, cut afterwards.
 *
 * For `mm`, and for `addmm` whose biases are all there with equal shapes [N] and whose factors agree: a
 * bias that broadcasts (a [1, N] or [1] one) says nothing about where its columns would lie.
 */
import {
  type Argument,
  type GraphModule,
  type Node,
  emitGetItem,
  emitOp,
  tensorVal,
  AliasSets,
} from '@tessera/graph';
import { getOp, sameNumbers } from '@tessera/tensor/internal';
import { isAddressed } from '../addressed.js';
import { reinferVals } from '../infer-vals.js';
import type { Pass } from '../pass.js';
import { hoistConstants, isConstantNode } from './constant-nodes.js';

const MM = getOp('aten::mm');
const ADDMM = getOp('aten::addmm');

/** A product with a constant right operand. */
interface Product {
  readonly node: Node;
  readonly input: Node;
  readonly weight: Node;
  readonly bias: Node | null;
  /** What products of one group have in common. */
  readonly key: string;
}

/** Merges products; returns how many products became part of another. */
export function mergeProducts(module: GraphModule): number {
  hoistConstants(module.graph);
  const groups = new Map<Node, Map<string, Product[]>>();
  for (const node of module.graph.nodes) {
    const product = productOf(node);
    if (product === null) continue;
    const byKey = groups.get(product.input) ?? new Map<string, Product[]>();
    groups.set(product.input, byKey);
    byKey.set(product.key, [...(byKey.get(product.key) ?? []), product]);
  }
  const sets = new AliasSets(module.graph);
  const parts = new Set<Node>();
  let merged = 0;
  for (const byKey of groups.values())
    for (const group of byKey.values()) {
      if (group.length < 2) continue;
      for (const part of merge(module, group, sets)) parts.add(part);
      merged += group.length;
    }
  // A part has gaps between its rows, which a product of its own had not.
  if (parts.size > 0) reinferVals(module, parts);
  return merged;
}

/** The pass. */
export const horizontalMerging: Pass = {
  name: 'horizontal-merging',
  run: (module) => mergeProducts(module) > 0,
};

function productOf(node: Node): Product | null {
  if (node.op !== 'call_function' || (node.target !== MM && node.target !== ADDMM)) return null;
  const plain = node.target === MM;
  const [input, weight] = [node.input(plain ? 0 : 1), node.input(plain ? 1 : 2)];
  const bias = plain ? null : node.args[0];
  if (!isConstantNode(weight) || (bias !== null && !isConstantNode(bias))) return null;
  // A product of constants is one; its weight need not stand before the others of the group.
  if (isConstantNode(input)) return null;
  const columns = tensorVal(weight)!.sizes[1]!;
  const biasVal = bias === null ? null : tensorVal(bias)!;
  if (biasVal !== null && !sameNumbers(biasVal.sizes, [columns])) return null;
  const parts = [plain, tensorVal(weight)!.dtype, biasVal?.dtype, biasVal?.sizes.join()];
  return { node, input, weight, bias, key: [...parts, ...node.args.slice(3)].join('|') };
}

/** Merges products; returns the parts of the merged one. */
function merge(module: GraphModule, group: readonly Product[], sets: AliasSets): Node[] {
  const made: Node[] = [];
  const { graph } = module;
  const first = group[0]!;
  const { val: _, ...origin } = first.node.meta;
  const emit = (op: string, args: readonly Argument[]): Node =>
    emitOp(graph, getOp(op), args, origin);
  graph.insertingBefore(first.node, () => {
    const weight = emit('aten::cat', [group.map((product) => product.weight), 1]);
    const whole =
      first.bias === null
        ? emit('aten::mm', [first.input, weight])
        : emit('aten::addmm', [
            emit('aten::cat', [group.map((product) => product.bias), 0]),
            first.input,
            weight,
            ...first.node.args.slice(3),
          ]);
    const columns = group.map((product) => tensorVal(product.weight)!.sizes[1]!);
    const parts = emit('aten::split_with_sizes', [whole, columns, 1]);
    group.forEach(({ node }, i) => {
      const part = emitGetItem(graph, parts, i);
      made.push(part);
      // What the caller gets, or somebody counts in, has memory and strides of its own.
      node.replaceAllUsesWith(
        sets.escapes(node) || isAddressed(node) ? emit('aten::clone', [part, 'contiguous']) : part,
      );
    });
  });
  for (const { node } of group) graph.eraseNode(node);
  return made;
}
