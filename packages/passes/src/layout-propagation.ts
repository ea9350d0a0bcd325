/**
 * @file Layout propagation: what follows a value that was laid out anew takes its layout, and the graph's
 * outputs keep the strides they have in eager.
 *
 * Recorded values decide layouts, so they are inferred anew, in order, from `prims::inductor_force_stride_order`
 * on. An op that cannot take the new strides (a view across channels), or that counts in memory (`as_strided`), or
 * that somebody else wrote, gets its input in the eager ones. Every output goes through
 * `prims::inductor_force_stride_order`, which costs nothing where strides are right already.
 */
import {
  type GraphModule,
  type Node,
  emitOp,
  getItem,
  inferVal,
  tensorVal,
  tensorVals,
} from '@tessera/graph';
import type { OpOverload, Tensor } from '@tessera/tensor';
import { forceStrideOrder } from './ops/force-stride-order.js';
import { itemVal } from './infer-vals.js';

type Val = Node['meta']['val'];

/** Operators that address memory: the same arguments mean other elements in another layout. */
const ADDRESSING: ReadonlySet<string> = new Set([
  'as_strided',
  'as_strided_copy',
  'as_strided_scatter',
]);

/** Namespaces of the library's operators, whose results do not depend on the strides of what they read. */
const OWN: ReadonlySet<string> = new Set(['aten', 'prims', 'tessera']);

/** Whether elements of a tensor lie where they would with other strides. */
export function liesAs({ sizes, strides }: Tensor, wanted: readonly number[]): boolean {
  return sizes.every((size, d) => size === 1 || strides[d] === wanted[d]);
}

/** Emits a value with given strides at the insertion point. */
export function emitForced(module: GraphModule, value: Node, strides: readonly number[]): Node {
  return emitOp(module.graph, forceStrideOrder, [value, [...strides]], { ...value.meta });
}

/** Propagates layouts from where they are forced; returns how many values changed theirs. */
export function propagateLayouts(module: GraphModule): number {
  const changed = new Set<Node>();
  const eager = new Map<Node, Val>();
  const forced = new Map<Node, Node>();
  for (const node of module.graph.nodes) {
    if (node.op === 'output') {
      if (changed.size > 0) forceOutputs(module, node, eager);
      continue;
    }
    if (dropIfRight(module, node)) continue;
    const before = node.meta.val;
    const after = revised(node, changed);
    if (after === 'keep') continue;
    if (after === 'refuse') {
      for (const input of node.allInputNodes())
        if (changed.has(input))
          node.replaceInputWith(input, forceStrides(module, input, eager, forced));
      continue;
    }
    node.meta.val = after;
    if (sameStrides(before, after)) continue;
    eager.set(node, before);
    changed.add(node);
  }
  return changed.size;
}

/** Takes out a layout that its value has by now. */
function dropIfRight(module: GraphModule, node: Node): boolean {
  if (node.target !== forceStrideOrder) return false;
  const value = node.input();
  if (!liesAs(tensorVal(value)!, node.numbers(1))) return false;
  node.replaceAllUsesWith(value);
  module.graph.eraseNode(node);
  return true;
}

/** The value that a node has now; `refuse` if it cannot take its inputs as they are. */
function revised(node: Node, changed: ReadonlySet<Node>): Val | 'keep' | 'refuse' {
  const { target } = node;
  if (node.op !== 'call_function' || target === forceStrideOrder) return 'keep';
  const inputs = node.allInputNodes();
  if (!inputs.some((input) => changed.has(input) || input.target === forceStrideOrder))
    return 'keep';
  if (target === getItem) return itemVal(node);
  if (typeof target !== 'object' || target.isMutable) return 'keep';
  if (!isFree(target)) return 'refuse';
  try {
    return inferVal(target, node.args);
  } catch {
    // A view that these strides do not allow.
    return 'refuse';
  }
}

/** Whether an operator's results are the same whatever the strides of its inputs. */
function isFree(op: OpOverload): boolean {
  const { namespace, name } = op.schema;
  return OWN.has(namespace) && !ADDRESSING.has(name) && !op.hasTag('random');
}

function forceStrides(
  module: GraphModule,
  value: Node,
  eager: ReadonlyMap<Node, Val>,
  forced: Map<Node, Node>,
): Node {
  const known = forced.get(value);
  if (known !== undefined) return known;
  const { strides } = eager.get(value) as Tensor;
  const made = module.graph.insertingAfter(value, () => emitForced(module, value, strides));
  forced.set(value, made);
  return made;
}

function forceOutputs(module: GraphModule, output: Node, eager: ReadonlyMap<Node, Val>): void {
  for (const value of output.allInputNodes()) {
    const val = tensorVal(value);
    if (value.op !== 'call_function' || val === null || value.target === forceStrideOrder) continue;
    const { strides } = (eager.get(value) ?? val) as Tensor;
    const made = module.graph.insertingBefore(output, () => emitForced(module, value, strides));
    output.replaceInputWith(value, made);
  }
}

function sameStrides(a: Val, b: Val): boolean {
  const [left, right] = [a, b].map((val) =>
    tensorVals({ meta: { val } }).map(({ strides }) => strides.join()),
  );
  return left!.join(';') === right!.join(';');
}
