/**
 * @file Recorded values (`meta.val`) for nodes that have none: a pass that adds nodes need not infer them.
 */
import { type GraphModule, type Node, getItem, inferVal } from '@tessera/graph';
import { type Tensor, isTensor } from '@tessera/tensor';

/** Infers the values of nodes that have none, from the values of their arguments. */
export function inferMissingVals(module: GraphModule): void {
  for (const node of module.graph.nodes) {
    if (node.meta.val !== undefined) continue;
    const val = missingVal(module, node);
    if (val !== undefined) node.meta.val = val;
  }
}

function missingVal(module: GraphModule, node: Node): Node['meta']['val'] {
  if (node.op === 'get_attr') {
    const value = module.getAttribute(node.target as string);
    return isTensor(value) ? value : undefined;
  }
  if (node.op !== 'call_function') return undefined;
  if (node.allInputNodes().some((input) => input.meta.val === undefined)) return undefined;
  if (node.target === getItem) {
    const [list, index] = node.args as readonly [Node, number];
    const vals = list.meta.val;
    return Array.isArray(vals) ? (vals as readonly (Tensor | null)[])[index] : undefined;
  }
  return typeof node.target === 'object' ? inferVal(node.target, node.args) : undefined;
}
