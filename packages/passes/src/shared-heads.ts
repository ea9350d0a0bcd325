/**
 * @file Heads of key and value that are repeated for the heads of the query: attention reads them where they are.
 *
 * `repeat_interleave(key, n, 1)`, or the same as a broadcast view that is reshaped, becomes the operator's
 * `enable_gqa`. Neither the copies nor the sums of their gradients remain. On captured graphs.
 */
import { type Argument, type GraphModule, Node, emitOp, tensorVal } from '@tessera/graph';
import { findOp, getOp } from '@tessera/tensor/internal';
import type { Pass } from './pass.js';
import { writeRegions } from './write-regions.js';

/** The pass. */
export const sharedHeads: Pass = { name: 'shared-heads', run: (module) => shareHeads(module) > 0 };

/** Lets attention read heads that are repeated for it; returns how many calls changed. */
export function shareHeads(module: GraphModule): number {
  const attention = findOp('aten::scaled_dot_product_attention');
  if (attention === undefined) return 0;
  const calls = module.graph.nodes.filter(({ target }) => target === attention);
  if (calls.length === 0) return 0;
  const regions = writeRegions(module);
  let count = 0;
  for (const node of calls) {
    const [query, key, value, ...rest] = node.args;
    const [keys, values] = [key, value].map(unrepeated);
    if (keys == null || values == null || keys.times !== values.times) continue;
    const path = [...keys.nodes, ...values.nodes];
    if (path.some((step) => regions.get(step) !== regions.get(node))) continue;
    const { val: _, ...origin } = node.meta;
    const args = [query!, keys.source, values.source, ...rest.slice(0, -1), true];
    const shared = module.graph.insertingBefore(node, () =>
      emitOp(module.graph, attention, args, origin),
    );
    node.replaceAllUsesWith(shared);
    module.graph.eraseNode(node);
    for (const step of path) if (!step.erased && step.users.size === 0) step.graph.eraseNode(step);
    count++;
  }
  return count;
}

/** What a value repeats, how often each head, and the calls that do it, last first. */
interface Repeat {
  readonly source: Node;
  readonly times: number;
  readonly nodes: readonly Node[];
}

function unrepeated(value: Argument | undefined): Repeat | null {
  const repeat = callOf(value, 'repeat_interleave.self_int');
  if (repeat !== null) {
    const source = repeat.input();
    const [, times, dim] = repeat.args;
    const isHeads = (dim === 1 || dim === -3) && tensorVal(source)?.ndim === 4;
    return isHeads && typeof times === 'number' && times > 0
      ? { source, times, nodes: [repeat] }
      : null;
  }
  return broadcast(value);
}

/** `reshape(expand(unsqueeze(x, 2), [b, h, n, s, d]), [b, h · n, s, d])`. */
function broadcast(value: Argument | undefined): Repeat | null {
  const joined =
    callOf(value, 'reshape') ?? callOf(value, 'view') ?? callOf(value, 'flatten.using_ints');
  const wide = callOf(joined?.args[0], 'expand');
  const narrow = callOf(wide?.args[0], 'unsqueeze');
  const source = narrow?.args[0];
  if (joined === null || wide === null || narrow === null || !(source instanceof Node)) return null;
  const [from, one, many, to] = [source, narrow, wide, joined].map(
    (node) => tensorVal(node)?.sizes ?? [],
  );
  const [b, h, s, d] = from;
  const times = many[2];
  if (from.length !== 4 || times === undefined || to.length !== 4) return null;
  const isRepeat =
    one.length === 5 &&
    (narrow.args[1] === 2 || narrow.args[1] === -3) &&
    [b, h, times, s, d].every((size, i) => many[i] === size) &&
    [b, h! * times, s, d].every((size, i) => to[i] === size);
  return isRepeat ? { source, times, nodes: [joined, wide, narrow] } : null;
}

function callOf(value: Argument | undefined, name: string): Node | null {
  return value instanceof Node &&
    value.op === 'call_function' &&
    value.target === getOp(`aten::${name}`)
    ? value
    : null;
}
