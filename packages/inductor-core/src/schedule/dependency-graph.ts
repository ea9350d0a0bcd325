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
  private readonly after = new Map<IrNode, IrNode[]>();
  private readonly groupOf = new Map<IrNode, Group>();

  constructor(context: FusionContext, groups: readonly Group[]) {
    for (const group of groups) this.assign(group);
    const edge = (from: IrNode, to: IrNode): void => {
      if (from === to) return;
      const list = this.after.get(from) ?? [];
      list.push(to);
      this.after.set(from, list);
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

  /** Records that the nodes of a group now belong to it. */
  assign(group: Group): void {
    for (const node of group.nodes) this.groupOf.set(node, group);
  }

  /** The group that a node belongs to now. */
  group(node: IrNode): Group {
    return this.groupOf.get(node)!;
  }

  /** Groups that must run after this one. */
  successors(group: Group): Set<Group> {
    const result = new Set<Group>();
    for (const node of group.nodes) {
      for (const next of this.after.get(node) ?? []) {
        const other = this.groupOf.get(next)!;
        if (other !== group) result.add(other);
      }
    }
    return result;
  }

  /** Whether a path leads from one to the other through a third group. */
  wouldCircle(a: Group, b: Group): boolean {
    return this.reachesIndirectly(a, b) || this.reachesIndirectly(b, a);
  }

  private reachesIndirectly(from: Group, to: Group): boolean {
    const seen = new Set<Group>([from]);
    const stack: Group[] = [];
    for (const next of this.successors(from)) if (next !== to) stack.push(next);
    while (stack.length > 0) {
      const group = stack.pop()!;
      // Nodes are in execution order: a group that starts after `to` ends cannot lead to it.
      if (seen.has(group) || group.id > to.last) continue;
      seen.add(group);
      for (const next of this.successors(group)) {
        if (next === to) return true;
        stack.push(next);
      }
    }
    return false;
  }
}
