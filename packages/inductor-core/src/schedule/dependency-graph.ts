/**
 * @file Which node must run before which, and whether joining two groups would close a circle.
 *
 * Edges: a writer before its readers; every reader of an input before the mutation that overwrites it.
 */
import type { IrNode } from '../lowering/ir-node.js';
import type { FusionContext } from './fusion-context.js';
import type { Group } from './group.js';

/** See the file header. */
export class DependencyGraph {
  private readonly groupOf = new Map<IrNode, Group>();
  /** Groups that must run after, and before, each group; kept up to date by `merge`. */
  private readonly after = new Map<Group, Set<Group>>();
  private readonly before = new Map<Group, Set<Group>>();

  constructor(context: FusionContext, groups: readonly Group[]) {
    for (const group of groups) {
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
    for (const node of context.graph.nodes) {
      for (const buf of new Set(context.of(node).reads.map((read) => read.buf))) {
        const writer = context.writer.get(buf);
        if (writer !== undefined) edge(writer, node);
      }
      if (node.kind === 'pointwise' && node.mutation)
        for (const reader of context.readers.get(node.out.name) ?? []) edge(reader, node);
    }
  }

  /** Records that two groups are one now. */
  merge(a: Group, b: Group, joined: Group): void {
    for (const node of joined.nodes) this.groupOf.set(node, joined);
    this.after.set(joined, replaced(this.after, this.before, a, b, joined));
    this.before.set(joined, replaced(this.before, this.after, a, b, joined));
    for (const group of [a, b]) {
      this.after.delete(group);
      this.before.delete(group);
    }
  }

  /** The group that a node belongs to now. */
  group(node: IrNode): Group {
    return this.groupOf.get(node)!;
  }

  /** Groups that must run after this one. */
  successors(group: Group): ReadonlySet<Group> {
    return this.after.get(group)!;
  }

  /** Whether a path leads from one to the other through a third group. */
  wouldCircle(a: Group, b: Group): boolean {
    return this.reachesIndirectly(a, b) || this.reachesIndirectly(b, a);
  }

  /** Searches from both ends in turns: where the groups are far apart, one end often has little around it. */
  private reachesIndirectly(from: Group, to: Group): boolean {
    const first = this.after.get(from)!;
    const last = this.before.get(to)!;
    if (first.size <= Number(first.has(to)) || last.size <= Number(last.has(from))) return false;
    const [reached, leading] = [new Set<Group>(), new Set<Group>()];
    const forwards = [...first].filter((group) => group !== to);
    const backwards = [...last].filter((group) => group !== from);
    while (forwards.length > 0 && backwards.length > 0) {
      const next = forwards.pop()!;
      if (leading.has(next)) return true;
      // Nodes are in execution order: a group that starts after `to` ends cannot lead to it.
      if (!reached.has(next) && next.id <= to.last) {
        if (last.has(next)) return true;
        reached.add(next);
        forwards.push(...this.after.get(next)!);
      }
      const previous = backwards.pop()!;
      if (reached.has(previous)) return true;
      if (leading.has(previous) || previous.last < from.id) continue;
      if (first.has(previous)) return true;
      leading.add(previous);
      backwards.push(...this.before.get(previous)!);
    }
    return false;
  }
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
