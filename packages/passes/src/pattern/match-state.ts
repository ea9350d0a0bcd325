/**
 * @file `MatchState`: what a pattern has found so far, while it is being matched.
 */
import type { Argument, Node } from '@tessera/graph';
import type { Pattern } from './pattern.js';

/** See the file header. Patterns add to it; whoever tries alternatives saves and restores it. */
export class MatchState {
  /** Node of every pattern that matched one: a pattern object used twice must match one node. */
  bound: Map<Pattern, Node> = new Map();
  /** Matched calls, inputs before users. */
  nodes: Node[] = [];
  /** Values of `Arg()`, in order. */
  args: Argument[] = [];
  /** Values of `KeywordArg(name)`. */
  kwargs: Map<string, Argument> = new Map();

  /** `outputs`: patterns whose nodes may have any users. */
  constructor(readonly outputs: ReadonlySet<Pattern>) {}

  /** A copy to go back to. */
  save(): MatchState {
    const copy = new MatchState(this.outputs);
    copy.bound = new Map(this.bound);
    copy.nodes = [...this.nodes];
    copy.args = [...this.args];
    copy.kwargs = new Map(this.kwargs);
    return copy;
  }

  /** Goes back to a copy. */
  restore(saved: MatchState): void {
    const copy = saved.save();
    this.bound = copy.bound;
    this.nodes = copy.nodes;
    this.args = copy.args;
    this.kwargs = copy.kwargs;
  }
}
