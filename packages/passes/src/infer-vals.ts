/**
 * @file Recorded values (`meta.val`) for nodes that have none: a pass that adds nodes need not infer them.
 */
import {
  type Graph,
  type GraphModule,
  type Node,
  emitOp,
  getItem,
  inferVal,
  tensorVals,
} from '@tessera/graph';
import { isTensor } from '@tessera/tensor';
import { getOp } from '@tessera/tensor/internal';
import { sameLayout } from './structural-key.js';

/** Infers the values of nodes that have none, from the values of their arguments. */
export function inferMissingVals(module: GraphModule): void {
  for (const node of module.graph.nodes) {
    if (node.meta.val !== undefined) continue;
    const val = missingVal(module, node);
    if (val !== undefined) node.meta.val = val;
  }
}

/**
 * Infers anew what reads values that take the place of others with another layout. A view that the new layout
 * does not allow gets a contiguous copy; what is read by address must not be replaced at all.
 */
export function reinferVals(module: GraphModule, replacements: ReadonlySet<Node>): void {
  const { graph } = module;
  const stale = new Set<Node>(replacements);
  for (const node of graph.nodes) {
    if (node.op !== 'call_function') continue;
    const inputs = node.allInputNodes().filter((input) => stale.has(input));
    if (inputs.length === 0 || isByAddress(node)) continue;
    const val = refitted(node);
    if (val === null)
      for (const input of inputs) node.replaceInputWith(input, contiguousCopy(graph, input, node));
    else if (val !== undefined && !sameLayouts(node, val)) {
      node.meta.val = val;
      stale.add(node);
    } else if (val !== undefined && isViewCall(node)) {
      // As it was, but a view of other memory.
      node.meta.val = val;
    }
  }
}

function isByAddress({ target }: Node): boolean {
  return typeof target === 'object' && target.schema.name.startsWith('as_strided');
}

function isViewCall({ target }: Node): boolean {
  return typeof target !== 'object' || target.isView;
}

/** The value of a call on its inputs as they are now; null if it does not take them. */
function refitted(node: Node): Node['meta']['val'] | null {
  if (node.target === getItem) return itemVal(node);
  if (typeof node.target !== 'object') return undefined;
  try {
    return inferVal(node.target, node.args);
  } catch {
    return null;
  }
}

function sameLayouts(node: Node, val: Node['meta']['val']): boolean {
  const [before, after] = [tensorVals(node), tensorVals({ meta: { val } })];
  return before.length === after.length && before.every((item, i) => sameLayout(item, after[i]!));
}

function contiguousCopy(graph: Graph, value: Node, before: Node): Node {
  const { val: _, ...origin } = value.meta;
  return graph.insertingBefore(before, () =>
    emitOp(graph, getOp('aten::clone'), [value, 'contiguous'], origin),
  );
}

/** The value of an item of a list. */
export function itemVal(node: Node): Node['meta']['val'] {
  const vals = node.input().meta.val;
  return Array.isArray(vals) ? vals[node.number(1)] : undefined;
}

function missingVal(module: GraphModule, node: Node): Node['meta']['val'] {
  if (node.op === 'get_attr') {
    const value = module.getAttribute(node.path);
    return isTensor(value) ? value : undefined;
  }
  if (node.op !== 'call_function') return undefined;
  if (node.allInputNodes().some((input) => input.meta.val === undefined)) return undefined;
  if (node.target === getItem) return itemVal(node);
  return typeof node.target === 'object' ? inferVal(node.target, node.args) : undefined;
}
