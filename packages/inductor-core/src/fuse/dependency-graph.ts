/**
 * @file Which node must run before which, and whether joining two groups would close a circle.
 *
 * Edges: a writer before its readers; every reader of an input before the mutation that overwrites it; a write of a part
 * after whoever wrote or read the memory before; calls with effects in their order.
 * Every group has a rank, and edges lead from lower ranks to higher ones; a search between two groups sees
 * only what lies between them. Joined groups may hold nodes from far apart, so the order of nodes cannot
 * serve as that rank: it is kept up as by Pearce and Kelly, "A Dynamic Topological Sort Algorithm for
 * Directed Acyclic Graphs" (2006).
 */
import { TesseraError } from '@tessera/shared';
import type { IrBuffer, IrNode } from '../lower/ir-node.js';
import type { FusionContext } from './fusion-context.js';
import type { Group } from './group.js';

/** See the file header. */
export class DependencyGraph {
  private readonly groupOf = new Map<IrNode, Group>();
  /** Groups that must run after, and before, each group; kept up to date by `merge`. */
  private readonly after = new Map<Group, Set<Group>>();
  private readonly before = new Map<Group, Set<Group>>();
  private readonly ranks = new Map<Group, number>();

  /** @param groups in an order in which they may run */
  constructor(context: FusionContext, groups: readonly Group[]) {
    for (const group of groups) {
      this.ranks.set(group, this.ranks.size);
      for (const node of group.nodes) this.groupOf.set(node, group);
      this.after.set(group, new Set());
      this.before.set(group, new Set());
    }
    const edge = (from: IrNode, to: IrNode): void => {
      const [first, second] = [this.group(from), this.group(to)];
      if (first === second) return;
      this.after.get(first)!.add(second);
      this.before.get(second)!.add(first);
    };
    let effect: IrNode | null = null;
    /** The first node that makes the check of each place in the program. */
    const checks = new Map<number, IrNode>();
    const { programOrder } = context.lowering;
    const { nodes } = context.graph;
    const hasWrites = nodes.some((node) => node.kind === 'pointwise' && node.out.before !== null);
    for (const node of nodes) {
      for (const buf of new Set(context.of(node).reads.map((read) => read.buf))) {
        // What overwrites a buffer in place comes after those that it reads.
        for (const writer of context.writers.get(buf) ?? [])
          if (writer.id < node.id) edge(writer, node);
      }
      if (node.kind === 'extern' && node.effect !== null && node.effect !== 'waits') {
        if (effect !== null) edge(effect, node);
        effect = node;
      }
      for (const place of hasWrites ? programOrder.checksOf(node) : [])
        if (!checks.has(place)) checks.set(place, node);
      if (node.kind === 'pointwise' && node.mutation)
        if (node.out.before === null)
          for (const reader of context.readers.get(node.out.name) ?? []) edge(reader, node);
        else this.edgesToOverwrite(context, node.out.before, node, checks, edge);
    }
  }

  /** What comes before a write of a part: those who wrote or read the memory, and checks that could refuse the write. */
  private edgesToOverwrite(
    { readers, writers, lowering: { programOrder } }: FusionContext,
    { name }: IrBuffer,
    write: IrNode,
    checks: ReadonlyMap<number, IrNode>,
    edge: (from: IrNode, to: IrNode) => void,
  ): void {
    for (const writer of writers.get(name) ?? []) edge(writer, write);
    for (const reader of readers.get(name) ?? []) {
      if (reader.id > write.id)
        throw new TesseraError(
          'plan-invalid',
          `A value of '${name}' is read after it was overwritten.`,
          { hints: ['This is a bug of Tessera; please report it with TESSERA_LOGS=graph.'] },
        );
      edge(reader, write);
    }
    const at = programOrder.writeOf(write);
    for (const [place, node] of checks) if (at !== null && place < at) edge(node, write);
  }

  /** Records that two groups are one now; joining them must not close a circle. */
  merge(a: Group, b: Group, joined: Group): void {
    this.rankJoined(...this.byRank(a, b), joined);
    for (const node of joined.nodes) this.groupOf.set(node, joined);
    this.after.set(joined, replaced(this.after, this.before, a, b, joined));
    this.before.set(joined, replaced(this.before, this.after, a, b, joined));
    for (const group of [a, b]) {
      this.after.delete(group);
      this.before.delete(group);
      this.ranks.delete(group);
    }
  }

  /** Between the ranks of two groups: first what leads to the second, then both as one, then what follows the first. */
  private rankJoined(first: Group, second: Group, joined: Group): void {
    const [low, high] = [this.rank(first), this.rank(second)];
    const isBetween = (group: Group): boolean => low < this.rank(group) && this.rank(group) < high;
    const leading = this.sorted(closure(second, this.before, isBetween));
    const following = this.sorted(closure(first, this.after, isBetween));
    const ranks = [low, ...[...leading, ...following].map((group) => this.rank(group)), high];
    ranks.sort((x, y) => x - y);
    [...leading, joined, ...following].forEach((group, i) => this.ranks.set(group, ranks[i]!));
  }

  private rank(group: Group): number {
    return this.ranks.get(group)!;
  }

  private byRank(a: Group, b: Group): [Group, Group] {
    return this.rank(a) < this.rank(b) ? [a, b] : [b, a];
  }

  private sorted(groups: Iterable<Group>): Group[] {
    return [...groups].sort((x, y) => this.rank(x) - this.rank(y));
  }

  /** The group that a node belongs to now. */
  group(node: IrNode): Group {
    return this.groupOf.get(node)!;
  }

  /** Groups that must run after this one. */
  successors(group: Group): ReadonlySet<Group> {
    return this.after.get(group)!;
  }

  /** Whether a path leads from one group to another. */
  leadsTo(from: Group, to: Group): boolean {
    const last = this.rank(to);
    return closure(from, this.after, (group) => this.rank(group) <= last).has(to);
  }

  /** Groups that must run after some of these. */
  following(groups: Iterable<Group>): Set<Group> {
    const found = new Set<Group>();
    for (const group of groups)
      for (const next of closure(group, this.after, (other) => !found.has(other))) found.add(next);
    return found;
  }

  /** Has one group run after another, which it must not lead to; groups are not joined any more after this. */
  order(first: Group, second: Group): void {
    this.after.get(first)!.add(second);
    this.before.get(second)!.add(first);
  }

  /**
   * Whether a path leads from one to the other through a third group. Searches from both ends in turns:
   * where the groups are far apart, one end often has little around it.
   */
  wouldCircle(a: Group, b: Group): boolean {
    const [from, to] = this.byRank(a, b);
    const [low, high] = [this.rank(from), this.rank(to)];
    const first = this.after.get(from)!;
    const last = this.before.get(to)!;
    if (first.size <= Number(first.has(to)) || last.size <= Number(last.has(from))) return false;
    const [reached, leading] = [new Set<Group>(), new Set<Group>()];
    const forwards = [...first];
    const backwards = [...last];
    while (forwards.length > 0 && backwards.length > 0) {
      const next = forwards.pop()!;
      if (!reached.has(next) && this.rank(next) < high) {
        if (leading.has(next) || last.has(next)) return true;
        reached.add(next);
        forwards.push(...this.after.get(next)!);
      }
      const previous = backwards.pop()!;
      if (!leading.has(previous) && this.rank(previous) > low) {
        if (reached.has(previous) || first.has(previous)) return true;
        leading.add(previous);
        backwards.push(...this.before.get(previous)!);
      }
    }
    return false;
  }
}

/** The groups that a search in one direction reaches while it stays inside a range. */
function closure(
  start: Group,
  edges: ReadonlyMap<Group, ReadonlySet<Group>>,
  isInside: (group: Group) => boolean,
): Set<Group> {
  const found = new Set<Group>();
  const open = [start];
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    for (const next of edges.get(group)!) {
      if (found.has(next) || !isInside(next)) continue;
      found.add(next);
      open.push(next);
    }
  }
  return found;
}

/** Neighbours of the joined group in one direction; their way back leads to it. */
function replaced(
  forth: ReadonlyMap<Group, ReadonlySet<Group>>,
  back: ReadonlyMap<Group, Set<Group>>,
  a: Group,
  b: Group,
  joined: Group,
): Set<Group> {
  const neighbours = new Set([...forth.get(a)!, ...forth.get(b)!]);
  neighbours.delete(a);
  neighbours.delete(b);
  for (const other of neighbours) {
    const list = back.get(other)!;
    list.delete(a);
    list.delete(b);
    list.add(joined);
  }
  return neighbours;
}
