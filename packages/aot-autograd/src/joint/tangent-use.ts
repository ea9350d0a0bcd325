/**
 * @file Which tangents each gradient comes from.
 *
 * If no gradient arrived for any of them, the input has none either: autograd leaves its `grad` alone, where
 * zeros would count as a gradient.
 */
import { type GraphModule, Node } from '@tessera/graph';

/** For each of the graph's outputs from `first` on, the tangents it depends on, by number; null for all others. */
export function tangentsOfGradients(
  { graph }: GraphModule,
  tangents: readonly Node[],
  first: number,
): (readonly number[] | null)[] {
  const reached = new Map<Node, ReadonlySet<number>>();
  tangents.forEach((node, i) => reached.set(node, new Set([i])));
  for (const node of graph.nodes) {
    if (reached.has(node)) continue;
    const sets = node.allInputNodes().flatMap((input) => reached.get(input) ?? []);
    if (sets.length === 1) reached.set(node, sets[0]!);
    else if (sets.length > 1) reached.set(node, new Set(sets.flatMap((set) => [...set])));
  }
  return graph.results.slice(first).map((output) => {
    const set = output instanceof Node ? reached.get(output) : undefined;
    return set === undefined || set.size === tangents.length ? null : [...set];
  });
}
