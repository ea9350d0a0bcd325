/**
 * @file `ShapeBinding`: the values that the symbols of a call have, as a node of a tree.
 *
 * A replay binds symbols in the order in which the trace meets them; each binding moves from a node to
 * its child. What was worked out for exactly these values hangs on the node: the metadata of results,
 * and compiled code. `ShapeBindings` keeps the most recently used ones.
 */
import type { SizedSegment } from '../backend.js';
import type { Segment } from '../trace/segment.js';
import type { Step } from '../trace/step.js';
import type { Made } from './known-place.js';

/** The code of a segment for some sizes. */
export interface SizedCode {
  /** The segment of these sizes; where no graph was made for them, one of others, which says what the code reads, makes and writes. */
  readonly segment: Segment;
  /** Code of which the backend knows that it is what the graph would be compiled to; null if it is the segment's own. */
  readonly proven: SizedSegment | null;
  /** What it returns: proven code serves while these are the outputs of `segment`. */
  readonly outputs: readonly number[];
}

/** See the file header. The root binds nothing. */
export class ShapeBinding {
  /** What steps make at these sizes; null while nothing is known. */
  made: Map<Step, Made> | null = null;
  /** Code for these sizes, by the segment that it specialises; null while there is none. */
  codes: Map<Segment, SizedCode> | null = null;
  /** Numbers and values of the symbols that are bound, in turns. */
  readonly point: readonly number[];
  /** By symbol and value. */
  private children: Map<number, ShapeBinding>[] | null = null;

  constructor(
    readonly parent: ShapeBinding | null,
    readonly symbol: number,
    readonly value: number,
  ) {
    this.point = parent === null ? [] : [...parent.point, symbol, value];
  }

  /** The node with one more symbol bound. */
  child(symbol: number, value: number): ShapeBinding {
    const children = (this.children ??= []);
    const nodes = (children[symbol] ??= new Map<number, ShapeBinding>());
    let node = nodes.get(value);
    if (node === undefined) nodes.set(value, (node = new ShapeBinding(this, symbol, value)));
    return node;
  }

  /** Drops what was worked out here, and the node itself where nothing hangs on it. */
  forget(): void {
    this.made = null;
    this.codes = null;
    this.prune();
  }

  private prune(): void {
    const { parent } = this;
    if (parent === null || this.codes !== null) return;
    if (this.children?.some((nodes) => nodes.size > 0) === true) return;
    parent.children![this.symbol]!.delete(this.value);
    parent.prune();
  }
}

/** Bindings that get code when they are met first; later ones when they come again. */
const AT_ONCE = 8;
/** A binding with code makes room for another after this many times the limit of other calls. */
const UNUSED = 16;

/** How many times the limit of bindings are kept that share code. */
const SHARED = 8;

/** The tree of one compiled function, bounded. */
export class ShapeBindings {
  readonly root: ShapeBinding = new ShapeBinding(null, -1, 0);
  /** Whether the code of one binding serves others: then every one is worth it, and many are kept. */
  sharesCode = false;
  /** Bindings with code, least recently used first, and the number of the call that used them last. */
  private readonly used = new Map<ShapeBinding, number>();
  /** Bindings that were declined. */
  private readonly declined = new Set<string>();
  private calls = 0;

  /** Marks a binding as used; beyond `limit` bindings the oldest are forgotten. */
  touch(binding: ShapeBinding, limit: number): void {
    this.calls++;
    this.used.delete(binding);
    this.used.set(binding, this.calls);
    const most = this.sharesCode ? SHARED * limit : limit;
    while (this.used.size > most) {
      const oldest: ShapeBinding = this.used.keys().next().value!;
      this.used.delete(oldest);
      oldest.forget();
    }
  }

  /**
   * Whether a binding that has no code is worth some: the first few at once, others when they come again, and
   * beyond `limit` only in place of one that was not used for long, so that sizes do not drive each other out.
   */
  admits(binding: ShapeBinding, limit: number): boolean {
    const { size } = this.used;
    if (size < Math.min(AT_ONCE, limit)) return true;
    this.calls++;
    const key = binding.point.join();
    const isNew = !this.declined.has(key);
    if (isNew) {
      if (this.declined.size >= UNUSED * limit) this.declined.clear();
      this.declined.add(key);
      return false;
    }
    const [oldest] = this.used.values();
    return size < limit || this.calls - oldest! > UNUSED * limit;
  }
}
