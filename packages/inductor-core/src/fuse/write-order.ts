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
  /** Where the program made the checks of each node. */
  private readonly checks = new Map<IrNode, readonly number[]>();
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
      const places = programOrder.checksOf(node).filter((place) => place < last);
      if (places.length === 0) continue;
      this.checks.set(node, places);
      for (const place of places)
        this.checking.set(place, [...(this.checking.get(place) ?? []), node]);
    }
  }

  /** Whether two groups in one kernel would write before it is known whether to. */
  wouldHurry(a: Group, b: Group): boolean {
    return (
      this.checks.size > 0 &&
      (this.isDecidedBy(a, b) ||
        this.isDecidedBy(b, a) ||
        this.wouldPrecede(a, b) ||
        this.wouldPrecede(b, a))
    );
  }

  /** Whether a write would come before all kernels with a check that decides about it, since those need the other group. */
  private wouldPrecede(writing: Group, other: Group): boolean {
    const last = Math.max(...writing.nodes.map((node) => this.writes.get(node) ?? -1));
    for (const place of this.checking.keys()) {
      if (place >= last) continue;
      const deciding = [...this.groupsWith(place)];
      const follows = (group: Group): boolean =>
        group === writing || this.dependencies.leadsTo(writing, group);
      const isLate = (group: Group): boolean =>
        group === other || this.dependencies.leadsTo(other, group) || follows(group);
      // Where the data has them follow the write already, it wins.
      if (deciding.every(isLate) && !deciding.every(follows)) return true;
    }
    return false;
  }

  private isDecidedBy(writing: Group, other: Group): boolean {
    const places = this.placesOf(other);
    if (places.size === 0) return false;
    return writing.nodes.some((node) => {
      const write = this.writes.get(node);
      return (
        write !== undefined &&
        [...places].some((place) => place < write && !this.isMadeBefore(place, writing, other))
      );
    });
  }

  private placesOf(group: Group): Set<number> {
    return new Set(group.nodes.flatMap((node) => this.checks.get(node) ?? []));
  }

  /** Whether a third group makes a check before one of two. */
  private isMadeBefore(place: number, a: Group, b: Group): boolean {
    return [...this.groupsWith(place)].some(
      (group) =>
        group !== a &&
        group !== b &&
        (this.dependencies.leadsTo(group, a) || this.dependencies.leadsTo(group, b)),
    );
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
