/**
 * @file Adding operator calls to a graph with their `meta.val` inferred, for passes that rewrite.
 */
import { SymInt, SymScalar, sizeHint } from '@tessera/shared';
import { type OpOverload, callOp, isTensor, noGrad } from '@tessera/tensor';
import { withFakeTensors, withoutModes } from '@tessera/tensor/internal';
import { getItem } from '../ir/get-item.js';
import { graphError } from '../ir/graph-error.js';
import type { Graph } from '../ir/graph.js';
import { type Argument, Node, type NodeMeta } from '../ir/node.js';

/**
 * Adds `op(...args)` at the insertion point. `meta.val` comes from the op's meta rule on the vals of
 * its arguments; views share storage with what they view. The rest of the metadata is `origin`'s.
 *
 * @throws graph-lint when an argument has no val
 */
export function emitOp(
  graph: Graph,
  op: OpOverload,
  args: readonly Argument[],
  origin: NodeMeta = {},
): Node {
  const val = inferVal(op, args);
  const node = graph.callFunction(op, args);
  node.meta = { ...origin, val };
  return node;
}

/** Adds a `getItem` node for result `index` of a node with several. */
export function emitGetItem(graph: Graph, list: Node, index: number): Node {
  const node = graph.callFunction(getItem, [list, index], 'getitem');
  const vals = list.meta.val;
  node.meta = {
    ...list.meta,
    val: Array.isArray(vals) ? vals[index] : undefined,
  };
  return node;
}

/** What an op's meta rule says of the recorded values of its arguments. @throws graph-lint when one has none */
export function inferVal(op: OpOverload, args: readonly Argument[]): NodeMeta['val'] {
  const values = args.map(exampleOf);
  const result = withoutModes(() => noGrad(() => withFakeTensors(() => callOp(op, values))));
  return result as NodeMeta['val'];
}

/** What stands for an argument when its op runs on metadata. */
function exampleOf(arg: Argument): unknown {
  if (arg instanceof Node) {
    const { val, scalar } = arg.meta;
    if (scalar !== undefined) return new SymScalar(Number(val), scalar.kind, arg.name);
    if (val === undefined) {
      throw graphError(
        `Node '${arg.name}' has no meta.val.`,
        'Trace the graph with makeFx, or set meta.val.',
      );
    }
    return isTensor(val) || !Array.isArray(val) ? val : [...val];
  }
  if (arg instanceof SymInt) return sizeHint(arg);
  return Array.isArray(arg) ? arg.map(exampleOf) : arg;
}
