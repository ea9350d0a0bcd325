/**
 * @file Maximum flow and minimum cut of a network with Dinic's algorithm.
 *
 * Capacities are non-negative integers, or Infinity; sums stay exact below 2⁵³.
 *
 * @see Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation", 1970
 */

/** A directed network; vertices are numbered from 0. */
export class FlowNetwork {
  /** Edges in pairs: `i ^ 1` is the reverse of `i`. */
  private readonly target: number[] = [];
  private readonly residual: number[] = [];
  private readonly edgesOf: number[][] = [];
  private level: Int32Array = new Int32Array(0);
  private next: Int32Array = new Int32Array(0);

  /** Adds a vertex and returns its number. */
  addVertex(): number {
    return this.edgesOf.push([]) - 1;
  }

  addEdge(from: number, to: number, capacity: number): void {
    this.edgesOf[from].push(this.target.push(to) - 1);
    this.residual.push(capacity);
    this.edgesOf[to].push(this.target.push(from) - 1);
    this.residual.push(0);
  }

  /** Pushes as much flow as fits; returns how much. Infinity if no finite cut separates the two. */
  maxFlow(source: number, sink: number): number {
    let total = 0;
    while (this.findLevels(source, sink)) {
      this.next = new Int32Array(this.edgesOf.length);
      for (
        let pushed = this.augment(source, sink);
        pushed > 0;
        pushed = this.augment(source, sink)
      ) {
        total += pushed;
        if (pushed === Infinity) return Infinity;
      }
    }
    return total;
  }

  /** After `maxFlow`: vertices from which the sink can still be reached, the smallest sink side of all minimum cuts. */
  sinkSide(sink: number): Uint8Array {
    const seen = new Uint8Array(this.edgesOf.length);
    const stack = [sink];
    seen[sink] = 1;
    while (stack.length > 0) {
      for (const edge of this.edgesOf[stack.pop()!]) {
        const from = this.target[edge];
        if (seen[from] === 1 || this.residual[edge ^ 1] === 0) continue;
        seen[from] = 1;
        stack.push(from);
      }
    }
    return seen;
  }

  private findLevels(source: number, sink: number): boolean {
    this.level = new Int32Array(this.edgesOf.length).fill(-1);
    this.level[source] = 0;
    const queue = [source];
    for (let head = 0; head < queue.length; head++) {
      const at = queue[head];
      for (const edge of this.edgesOf[at]) {
        const to = this.target[edge];
        if (this.residual[edge] === 0 || this.level[to] >= 0) continue;
        this.level[to] = this.level[at] + 1;
        queue.push(to);
      }
    }
    return this.level[sink] >= 0;
  }

  /** Finds one path along the levels, without recursion (graphs are deep), and pushes flow along it. */
  private augment(source: number, sink: number): number {
    const path: number[] = [];
    let at = source;
    while (at !== sink) {
      const edge = this.usableEdge(at);
      if (edge >= 0) {
        path.push(edge);
        at = this.target[edge];
        continue;
      }
      // A dead end: no path through here on these levels any more.
      this.level[at] = -1;
      const back = path.pop();
      if (back === undefined) return 0;
      at = this.target[back ^ 1];
    }
    const pushed = path.reduce((least, edge) => Math.min(least, this.residual[edge]), Infinity);
    for (const edge of path) {
      this.residual[edge] -= pushed;
      this.residual[edge ^ 1] += pushed;
    }
    return pushed;
  }

  private usableEdge(at: number): number {
    const edges = this.edgesOf[at];
    for (; this.next[at] < edges.length; this.next[at]++) {
      const edge = edges[this.next[at]];
      if (this.residual[edge] > 0 && this.level[this.target[edge]] === this.level[at] + 1)
        return edge;
    }
    return -1;
  }
}
