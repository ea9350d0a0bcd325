/**
 * @file A user's pass on the captured graph: products with the same right operand become one.
 */
import { compile, config } from '@tessera/compile';
import type { Node } from '@tessera/graph';
import { type Graph, getItem, tensorVal } from '@tessera/graph';
import { type Tensor, getOp, randn } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose } from '../../src/index.js';

const MM = getOp('aten::mm');

/** mm(a, w), mm(b, w) → split(mm(cat(a, b), w)); as the document's, for independent left operands only. */
function mergeProducts(graph: Graph): void {
  const byRight = new Map<Node, Node[]>();
  for (const node of graph.nodes) {
    if (node.target !== MM) continue;
    const right = node.args[1] as Node;
    byRight.set(right, [...(byRight.get(right) ?? []), node]);
  }
  for (const [right, products] of byRight) {
    if (products.length === 1) continue;
    const lefts = products.map((product) => product.args[0] as Node);
    const rows = lefts.map((left) => tensorVal(left)!.sizes[0]!);
    const parts = graph.insertingBefore(products[0]!, () => {
      const joined = graph.callFunction(getOp('aten::cat'), [lefts, 0]);
      const product = graph.callFunction(MM, [joined, right]);
      return graph.callFunction(getOp('aten::split_with_sizes'), [product, rows, 0]);
    });
    products.forEach((product, i) => {
      const part = graph.insertingBefore(product, () => graph.callFunction(getItem, [parts, i]));
      product.replaceAllUsesWith(part);
      graph.eraseNode(product);
    });
  }
}

/** Four products of different lengths, given as a list. */
export function mergesProductsOfSharedOperand(): void {
  let seen: Graph | null = null;
  const pass = (graph: Graph): void => {
    mergeProducts(graph);
    seen = graph;
  };
  config.patch({ preGradCustomPass: pass }, () => {
    const apply = (w: Tensor, sequences: readonly Tensor[]): Tensor[] =>
      sequences.map((sequence) => sequence.mm(w));
    const w = randn([16, 16], { dtype: 'bfloat16' });
    const sequences = [4, 8, 5, 3].map((length) => randn([length, 16], { dtype: 'bfloat16' }));
    assertClose(compile(apply)(w, sequences), apply(w, sequences));
  });
  expect(seen).not.toBeNull();
  expect(seen!.nodes.filter((node) => node.target === MM)).toHaveLength(1);
}
