/**
 * @file `SizeTuple`: the values that the symbols of a call have, as a node of a tree.
 *
 * A replay binds symbols in the order in which the trace meets them; each binding moves from a node to
 * its child. What was worked out for exactly these values hangs on the node: the metadata of results,
 * and compiled code. `SizeTuples` keeps the most recently used ones.
 */
import type { Segment } from '../trace/segment.js';
import type { OutSpec, Step } from '../trace/step.js';

/** See the file header. The root binds nothing. */
export class SizeTuple {
  /** Results of a step at these sizes, by step; for backward and regions, of what they make. */
  readonly specs: Map<Step, readonly (OutSpec | null)[]> = new Map();
  /** Code for these sizes, by the segment that it specialises. */
  readonly segments: Map<Segment, Segment> = new Map();
  private readonly children = new Map<string, SizeTuple>();

  constructor(
    readonly parent: SizeTuple | null,
    readonly symbol: number,
    readonly value: number,
  ) {}

  /** The node with one more symbol bound. */
  child(symbol: number, value: number): SizeTuple {
    const key = `${symbol}:${value}`;
    let node = this.children.get(key);
    if (node === undefined) this.children.set(key, (node = new SizeTuple(this, symbol, value)));
    return node;
  }

  /** Bound values by symbol number, outermost first. */
  get values(): [symbol: number, value: number][] {
    return this.parent === null ? [] : [...this.parent.values, [this.symbol, this.value]];
  }

  /** Drops what was worked out here, and the node itself where nothing hangs on it. */
  forget(): void {
    this.specs.clear();
    this.segments.clear();
    this.prune();
  }

  private prune(): void {
    if (this.parent === null || this.children.size > 0 || this.segments.size > 0) return;
    this.parent.children.delete(`${this.symbol}:${this.value}`);
    this.parent.prune();
  }
}

/** The tree of one compiled function, bounded. */
export class SizeTuples {
  readonly root: SizeTuple = new SizeTuple(null, -1, 0);
  /** Least recently used first. */
  private readonly used = new Set<SizeTuple>();

  /** Marks a tuple as used; beyond `limit` tuples the oldest are forgotten. */
  touch(tuple: SizeTuple, limit: number): void {
    this.used.delete(tuple);
    this.used.add(tuple);
    for (const oldest of this.used) {
      if (this.used.size <= limit) return;
      this.used.delete(oldest);
      oldest.forget();
    }
  }

  /** Number of tuples with compiled code. */
  get size(): number {
    return this.used.size;
  }
}
