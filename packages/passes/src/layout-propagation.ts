/**
 * @file Layout propagation: what follows a channels-last weight works channels last, and the graph's
 * outputs keep the strides they have in eager.
 *
 * Recorded values decide layouts, so the pass infers them anew in order. An op that cannot take the new
 * strides (a view across channels, `as_strided`) gets its input in the eager ones. Every output goes
 * through `prims::inductor_force_stride_order`, which costs nothing where strides are right already.
 */
import type { Node } from '@tessera/graph';
import { type GraphModule, emitOp, getItem, inferVal, tensorVal, tensorVals } from '@tessera/graph';
import { type Tensor, isTensor, sameNumbers } from '@tessera/tensor';
import { convolutionPointwise } from './ops/convolution-pointwise.js';
import { forceStrideOrder } from './ops/force-stride-order.js';
import type { Pass } from './pass.js';

/** Propagates layouts from constants; returns how many values changed theirs. */
export function propagateLayouts(module: GraphModule): number {
  const changed = new Set<Node>();
  const eager = new Map<Node, Node['meta']['val']>();
  const forced = new Map<Node, Node>();
  for (const node of module.graph.nodes) {
    if (node.op === 'output') {
      if (changed.size > 0) forceOutputs(module, node, eager);
      continue;
    }
    const before = node.meta.val;
    const after = revised(module, node, changed);
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

/** The pass. */
export const layoutPropagation: Pass = {
  name: 'layout-propagation',
  run: (module) => propagateLayouts(module) > 0,
};

/** The value that a node has now; `refuse` if it cannot take its inputs as they are. */
function revised(
  module: GraphModule,
  node: Node,
  changed: ReadonlySet<Node>,
): Node['meta']['val'] | 'keep' | 'refuse' {
  if (node.op === 'get_attr') return attributeVal(module, node);
  if (node.op !== 'call_function') return 'keep';
  const inputs = node.allInputNodes();
  const { target } = node;
  // Prepacking laid out its weight anew, which decides its result.
  const packed = target === convolutionPointwise;
  if (!packed && !inputs.some((input) => changed.has(input))) return 'keep';
  if (target === getItem)
    return (inputs[0]!.meta.val as readonly (Tensor | null)[])[node.args[1] as number];
  if (typeof target !== 'object' || target.isMutable) return 'keep';
  if (target.schema.name === 'as_strided' || target.hasTag('random')) return 'refuse';
  try {
    return inferVal(target, node.args);
  } catch {
    // A view that these strides do not allow.
    return 'refuse';
  }
}

/** A constant's recorded value with the strides that it really has. */
function attributeVal(module: GraphModule, node: Node): Tensor | 'keep' {
  const recorded = tensorVal(node);
  const actual = module.getAttribute(node.target as string);
  if (recorded === null || !isTensor(actual)) return 'keep';
  return sameNumbers(recorded.strides, actual.strides) ? 'keep' : actual;
}

function forceStrides(
  module: GraphModule,
  value: Node,
  eager: ReadonlyMap<Node, Node['meta']['val']>,
  forced: Map<Node, Node>,
): Node {
  const known = forced.get(value);
  if (known !== undefined) return known;
  const { strides } = eager.get(value) as Tensor;
  const made = module.graph.insertingAfter(value, () =>
    emitOp(module.graph, forceStrideOrder, [value, [...strides]], { ...value.meta }),
  );
  forced.set(value, made);
  return made;
}

function forceOutputs(
  module: GraphModule,
  output: Node,
  eager: ReadonlyMap<Node, Node['meta']['val']>,
): void {
  for (const value of output.allInputNodes()) {
    const val = tensorVal(value);
    if (value.op !== 'call_function' || val === null) continue;
    const { strides } = (eager.get(value) ?? val) as Tensor;
    const made = module.graph.insertingBefore(output, () =>
      emitOp(module.graph, forceStrideOrder, [value, [...strides]], { ...value.meta }),
    );
    output.replaceInputWith(value, made);
  }
}

function sameStrides(a: Node['meta']['val'], b: Node['meta']['val']): boolean {
  const [left, right] = [a, b].map((val) =>
    tensorVals({ meta: { val } } as Node).map(({ strides }) => strides.join()),
  );
  return left!.join(';') === right!.join(';');
}
