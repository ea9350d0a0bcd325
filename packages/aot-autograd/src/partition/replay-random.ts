/**
 * @file Random ops that backward computes again: they repeat the draw of the forward pass.
 *
 * The random ops of a forward graph take consecutive offsets of the generator. The generator's state when
 * the forward graph started is saved with the other values, as two scalars, and each random op that runs
 * again is given it with its number.
 */
import type { GraphModule, Node } from '@tessera/graph';
import { type OpOverload } from '@tessera/tensor';
import { replayOf } from '@tessera/tensor/internal';

/** Whether a node advances the generator. */
export function drawsRandom(node: Node): boolean {
  const { target } = node;
  if (typeof target !== 'object' || !target.hasTag('random')) return false;
  // Dropout that does not train draws nothing.
  return !(target.qualifiedName === 'aten::native_dropout' && node.args[2] === false);
}

/**
 * Replaces the random nodes of a backward graph that the forward graph has too, by name; adds the state as
 * inputs behind the first `saved` ones. Returns whether there were any.
 */
export function replayRandom(
  backward: GraphModule,
  forward: readonly Node[],
  saved: number,
): boolean {
  const { graph } = backward;
  const numbers = new Map(forward.filter(drawsRandom).map((node, i) => [node.name, i]));
  const repeated = graph.nodes.filter((node) => drawsRandom(node) && numbers.has(node.name));
  if (repeated.length === 0) return false;
  const next = graph.placeholders[saved];
  const [seed, offset] = ['replay_seed', 'replay_offset'].map((name) =>
    graph.insertingBefore(next, () => {
      const node = graph.placeholder(name);
      node.meta = { val: 0, scalar: { kind: 'int' } };
      return node;
    }),
  );
  for (const node of repeated) {
    const draw = numbers.get(node.name)!;
    const replay = graph.insertingBefore(node, () =>
      graph.callFunction(replayOf(node.target as OpOverload)!, [seed, offset, draw, ...node.args]),
    );
    replay.meta = { ...node.meta };
    node.replaceAllUsesWith(replay);
    graph.eraseNode(node);
  }
  return true;
}
