/**
 * @file `Pass`: one named transformation of a graph.
 */
import type { GraphModule } from '@tessera/graph';

/** A transformation; the name is what logs and debug folders show. */
export interface Pass {
  readonly name: string;
  /** Changes the module in place; returns whether anything changed. */
  run(module: GraphModule): boolean;
}
