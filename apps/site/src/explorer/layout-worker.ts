/**
 * @file The worker that places boxes, with dagre.
 */
import { Graph, layout } from '@dagrejs/dagre';

/** Boxes by id with their sizes, and edges. */
export interface LayoutRequest {
  readonly id: number;
  readonly boxes: readonly {
    readonly id: string;
    readonly width: number;
    readonly height: number;
  }[];
  readonly edges: readonly (readonly [from: string, to: string])[];
}

/** Where a box is: its middle and its size. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Places by id, and corners of each edge. */
export interface LayoutResponse {
  readonly id: number;
  readonly places: Readonly<Record<string, Place>>;
  readonly edges: readonly (readonly { readonly x: number; readonly y: number }[])[];
}

addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 34, ranker: 'longest-path' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of data.boxes) graph.setNode(id, { width, height });
  for (const [from, to] of data.edges) graph.setEdge(from, to);
  layout(graph);
  const places: Record<string, Place> = {};
  for (const { id } of data.boxes) {
    const { x, y, width, height } = graph.node(id) as Place;
    places[id] = { x, y, width, height };
  }
  const edges = data.edges.map(([from, to]) => {
    const { points } = graph.edge(from, to) as { points?: { x: number; y: number }[] };
    return (points ?? []).map(({ x, y }) => ({ x, y }));
  });
  postMessage({ id: data.id, places, edges } satisfies LayoutResponse);
});
