/**
 * @file `WriteOrder`: arguments are written after the checks that the program made before.
 *
 * In eager, a program whose index is out of range stops there, and what it would have written later stays as it was.
 * Kernels note failed checks and go on, so a write must lie in a later kernel than some kernel that makes the check;
 * a check is made wherever its value is computed again, and the first time is enough. Fusion therefore never brings
 * a write into the only kernel that decides about it, or into one that such kernels wait for (`wouldHurry`), and when it is done, writes that nothing else
 * holds back follow one of the kernels with the check (`settle`). Where the data says otherwise it wins.
 */
import type { IrNode } from '../lower/ir-node.js';
import type { DependencyGraph } from './dependency-graph.js';
import type { FusionContext } from './fusion-context.js';
import type { Group } from './group.js';

/** See the file header. Places are those of `lower/program-order.ts`. */
export class WriteOrder {
  /** Nodes that make the check of each place. */
  private readonly checking = new Map<number, IrNode[]>();
  private readonly writes = new Map<IrNode, number>();

  constructor(
    { graph, lowering: { programOrder } }: FusionContext,
    private readonly dependencies: DependencyGraph,
  ) {
    for (const node of graph.nodes) {
      const place = programOrder.writeOf(node);
      if (place !== null) this.writes.set(node, place);
    }
    if (this.writes.size === 0) return;
    const last = Math.max(...this.writes.values());
    for (const node of graph.nodes) {
      for (const place of programOrder.checksOf(node))
        if (place < last) this.checking.set(place, [...(this.checking.get(place) ?? []), node]);
    }
  }

  /** Whether two groups in one kernel would write before it is known whether to. */
  wouldHurry(a: Group, b: Group): boolean {
    return this.checking.size > 0 && (this.comesTooEarly(a, b) || this.comesTooEarly(b, a));
  }

  /** Whether the other group makes a check that decides about a write, or such kernels wait for it, and none surely comes first. */
  private comesTooEarly(writing: Group, other: Group): boolean {
    const last = Math.max(...writing.nodes.map((node) => this.writes.get(node) ?? -1));
    const { dependencies } = this;
    return [...this.checking.keys()].some((place) => {
      if (place >= last) return false;
      const deciding = [...this.groupsWith(place)];
      // Where the data has a check follow the write already, it wins.
      const becomesLate = (group: Group): boolean =>
        group !== writing &&
        (group === other || dependencies.leadsTo(other, group)) &&
        !dependencies.leadsTo(writing, group);
      const isFirst = (group: Group): boolean =>
        group !== writing &&
        group !== other &&
        (dependencies.leadsTo(group, writing) || dependencies.leadsTo(group, other));
      return deciding.some(becomesLate) && !deciding.some(isFirst);
    });
  }

  private groupsWith(place: number): Set<Group> {
    return new Set(this.checking.get(place)!.map((node) => this.dependencies.group(node)));
  }

  /** Adds an edge to every write that could run before all kernels with a check that decides about it. */
  settle(): void {
    for (const place of this.checking.keys()) {
      const deciding = this.groupsWith(place);
      const later = this.dependencies.following(deciding);
      for (const [node, write] of this.writes) {
        const group = this.dependencies.group(node);
        if (write <= place || later.has(group)) continue;
        const after = this.dependencies.following([group]);
        const first = [...deciding].find((other) => other !== group && !after.has(other));
        if (first !== undefined) this.dependencies.order(first, group);
      }
    }
  }
}
