/**
 * @file `PatternMatcherPass`: patterns with what to do where they are found, run as one pass.
 *
 * Walks the graph from the end, so that the largest pattern that ends somewhere is seen before parts of
 * it. A match never reaches across a write. Counts `inductor/pattern_matcher_count` (matches) and
 * `pattern_matcher_nodes` (calls in them).
 */
import type { GraphModule, Node, Target } from '@tessera/graph';
import { type Steps, atOnce, counters } from '@tessera/shared';
import type { Pass } from '../pass.js';
import { writeRegions } from '../write-regions.js';
import { Match } from './match.js';
import { type Pattern, matchAt } from './pattern.js';

/** Decides whether a match is to be replaced. */
export type ExtraCheck = (match: Match) => boolean;

/** A pattern and what happens where it is found. */
export interface PatternEntry {
  readonly pattern: Pattern;
  readonly extraCheck: ExtraCheck;
  apply(match: Match): void;
}

/** Options of the `register…` functions. */
export interface PatternOptions {
  /** The pass that the pattern joins. */
  readonly passes: PatternMatcherPass;
  /** Whether to replace a match; default always. */
  readonly extraCheck?: ExtraCheck;
}

/** See the file header. */
export class PatternMatcherPass implements Pass {
  private readonly entries = new Map<Target, PatternEntry[]>();

  /** `name` is what logs and debug folders show. */
  constructor(readonly name: string = 'pattern-matcher') {}

  /** Adds a pattern; those added first are tried first. */
  add(entry: PatternEntry): void {
    for (const target of entry.pattern.targets) {
      const known = this.entries.get(target);
      if (known === undefined) this.entries.set(target, [entry]);
      else known.push(entry);
    }
  }

  run(module: GraphModule): boolean {
    return this.apply(module) > 0;
  }

  *steps(module: GraphModule): Steps<boolean> {
    return (yield* this.applying(module)) > 0;
  }

  /** Replaces what it finds; returns how many matches that were. */
  apply(module: GraphModule): number {
    return atOnce(this.applying(module));
  }

  private *applying(module: GraphModule): Steps<number> {
    const { nodes } = module.graph;
    if (!nodes.some(({ target }) => this.entries.has(target))) return 0;
    let regions: ReadonlyMap<Node, number> | null = null;
    let count = 0;
    for (const node of nodes.reverse()) {
      yield;
      if (node.op !== 'call_function') continue;
      for (const entry of this.entries.get(node.target) ?? []) {
        if (node.erased) break;
        const state = matchAt(entry.pattern, node);
        if (state === null) continue;
        // Nothing was replaced before the first match.
        regions ??= writeRegions(module);
        if (new Set(state.nodes.map((found) => regions!.get(found) ?? 0)).size > 1) continue;
        const match = new Match(module, entry.pattern, state);
        if (!entry.extraCheck(match)) continue;
        count++;
        counters.inc('inductor', 'pattern_matcher_count');
        counters.inc('inductor', 'pattern_matcher_nodes', match.nodes.length);
        entry.apply(match);
      }
    }
    return count;
  }
}

/**
 * Calls `handler` with every match; it edits the graph itself.
 *
 * @see torch._inductor.pattern_matcher.register_graph_pattern
 */
export function registerGraphPattern(
  pattern: Pattern,
  handler: (match: Match) => void,
  options: PatternOptions,
): void {
  options.passes.add({
    pattern,
    extraCheck: options.extraCheck ?? (() => true),
    apply: handler,
  });
}
