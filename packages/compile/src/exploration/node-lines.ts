/**
 * @file Which line of the program a node of a graph comes from. A backward node comes from the line of its forward node: both
 * have the same sequence number.
 */
import type { GraphModule, Node } from '@tessera/graph';

/** The line of the program, from 1, in a frame `file:line:column name`; null for frames of other files. */
export type FrameLine = (frame: string | undefined) => number | null;

/** See the file header. */
export class NodeLines {
  private readonly bySequence = new Map<number, number>();

  constructor(private readonly frameLine: FrameLine) {}

  /** Remembers the lines of a graph's nodes for graphs that are derived from it. */
  learn({ graph }: GraphModule): void {
    for (const { meta } of graph.nodes) {
      const line = this.frameLine(meta.stackTrace);
      if (line !== null && meta.seqNr !== undefined) this.bySequence.set(meta.seqNr, line);
    }
  }

  /** The line of a node; null where it is not known. */
  of({ meta }: Node): number | null {
    const own = this.frameLine(meta.stackTrace);
    if (own !== null || meta.seqNr === undefined) return own;
    return this.bySequence.get(meta.seqNr) ?? null;
  }
}
