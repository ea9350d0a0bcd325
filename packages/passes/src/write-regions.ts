/**
 * @file Regions between writes of a graph that is not functionalised: a value may be read later than it was
 * only within its region.
 */
import { type GraphModule, type Node, writtenInputs } from '@tessera/graph';

/** Number of writes before each node. */
export function writeRegions(module: GraphModule): ReadonlyMap<Node, number> {
  const regions = new Map<Node, number>();
  let region = 0;
  for (const node of module.graph.nodes) {
    if (writtenInputs(node).length > 0) region++;
    regions.set(node, region);
  }
  return regions;
}
