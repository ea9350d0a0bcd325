/**
 * @file Which boxes a graph is drawn with: its nodes, or, where these are too many, one box for each module, and at last one
 * box for each run of nodes.
 */
import type { GraphNodeView, GraphView } from '@tessera/compile/exploration';

/** Boxes that are laid out one by one; beyond, nodes are taken together. */
export const MOST_BOXES = 400;

/** What is drawn as one. */
export interface Box {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  readonly nodes: readonly GraphNodeView[];
}

/** Boxes and the edges between them, by id. */
export interface BoxGraph {
  readonly boxes: readonly Box[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

function boxOf(id: string, nodes: readonly GraphNodeView[]): Box {
  const [first] = nodes;
  if (nodes.length === 1)
    return { id, label: first!.label, detail: `${first!.name} ${first!.value}`, nodes };
  return { id, label: first!.module || `${first!.name} …`, detail: `${nodes.length} nodes`, nodes };
}

/**
 * Cuts the nodes, which are in an order of computation, into pieces of neighbours. Pieces of neighbours never depend on each
 * other in a circle, as boxes of all nodes of a module might.
 */
function pieces(
  nodes: readonly GraphNodeView[],
  together: (a: GraphNodeView, b: GraphNodeView, size: number) => boolean,
): GraphNodeView[][] {
  const found: GraphNodeView[][] = [];
  for (const node of nodes) {
    const last = found.at(-1);
    if (last !== undefined && together(last[0]!, node, last.length)) last.push(node);
    else found.push([node]);
  }
  return found;
}

/** See the file header. Nodes of `open` boxes are drawn one by one. */
export function boxesOf({ nodes }: GraphView, open: ReadonlySet<string> = new Set()): BoxGraph {
  let groups = nodes.map((node) => [node]);
  if (groups.length > MOST_BOXES)
    groups = pieces(nodes, (a, b) => a.module !== '' && a.module === b.module);
  if (groups.length > MOST_BOXES) {
    const size = Math.ceil(nodes.length / MOST_BOXES);
    groups = pieces(nodes, (_, __, count) => count < size);
  }
  const opened = groups.flatMap((group) =>
    open.has(group[0]!.name) ? group.map((node) => [node]) : [group],
  );
  const boxes = opened.map((group) => boxOf(group[0]!.name, group));
  const owner = new Map(boxes.flatMap(({ id, nodes: own }) => own.map(({ name }) => [name, id])));
  const edges = new Map<string, readonly [string, string]>();
  for (const { id, nodes: own } of boxes)
    for (const { inputs } of own)
      for (const input of inputs) {
        const from = owner.get(input);
        if (from !== undefined && from !== id) edges.set(`${from} ${id}`, [from, id]);
      }
  return { boxes, edges: [...edges.values()] };
}
