/**
 * @file `fusionSteps`: joins nodes into groups, one kernel each.
 *
 * Greedy, in rounds: pairs of groups that touch a common buffer, most bytes saved first; a pair joins if
 * it can (fuse-loops.ts, fuse-matmul.ts), fits the backend's limits and closes no circle. Consumers go
 * into a product's epilogue before anything else, cheap producers into its operands last. Only groups
 * that are neighbours at some buffer are paired, so the work grows linearly with the graph. Modelled
 * on inductor's scheduler.
 */
import { type Steps, log } from '@tessera/shared';
import type { IrNode, LoweredGraph, PointwiseNode } from '../lower/ir-node.js';
import type { Lowering } from '../lower/lowering.js';
import { DependencyGraph } from './dependency-graph.js';
import { fuseLoops } from './fuse-loops.js';
import { fuseEpilogue, fusePrologue } from './fuse-matmul.js';
import { FusionContext } from './fusion-context.js';
import { inExecutionOrder } from './execution-order.js';
import { MemoryClashes } from './memory-clashes.js';
import { WriteOrder } from './write-order.js';
import { type Group, type LoopGroup, type MatmulGroup, describeGroup, groupOf } from './group.js';

/** A graph cut into kernels. */
export interface Schedule {
  readonly context: FusionContext;
  /** In execution order. */
  readonly groups: readonly Group[];
}

/** Rounds after which no graph has had anything left to fuse. */
const MOST_ROUNDS = 10;

/** Later readers of the same buffer with which a reader is paired. */
const NEAREST_READERS = 4;

const CIRCLE = 'stay apart, as a third kernel stands between them';
const OVERWRITE = 'stay apart, as one overwrites a part of what the other accesses';
const HURRY = 'stay apart, as one checks whether the other writes';
const UNLIKE = 'stay apart, as their loops differ or the kernel would be too large';

/** One way to join two groups; null for groups of other kinds, as asking costs nothing. */
type Joiner = (a: Group, b: Group) => ((context: FusionContext) => Group | null) | null;

/** Joins a product and loops, whichever comes first. */
const productAndLoops =
  (
    join: (context: FusionContext, product: MatmulGroup, loops: LoopGroup) => Group | null,
  ): Joiner =>
  (a, b) => {
    if (a.kind === 'matmul' && b.kind === 'loop') return (context) => join(context, a, b);
    return a.kind === 'loop' && b.kind === 'matmul' ? (context) => join(context, b, a) : null;
  };

const epilogues = productAndLoops(fuseEpilogue);

const loops: Joiner = (a, b) =>
  a.kind === 'loop' && b.kind === 'loop' ? (context) => fuseLoops(context, a, b) : null;

const prologues = productAndLoops(fusePrologue);

interface Pair {
  readonly a: Group;
  readonly b: Group;
  score: number;
}

class Fusion {
  private readonly groups = new Map<number, Group>();
  private readonly dependencies: DependencyGraph;
  private readonly writeOrder: WriteOrder;
  private readonly partialWrites: MemoryClashes;
  private readonly mutations: PointwiseNode[] = [];
  /** For each buffer that several nodes fill: those nodes. They save a launch, so they are paired last. */
  private readonly parts: readonly (readonly IrNode[])[];
  /** Pairs found impossible; they stay so until one of them changes. */
  private readonly rejected = new Map<Group, Set<Group>>();

  constructor(private readonly context: FusionContext) {
    const { ir } = context.lowering;
    for (const node of context.graph.nodes)
      if (node.kind === 'pointwise' && node.mutation) this.mutations.push(node);
    this.parts = [...context.writers.values()].filter((writers) => writers.length > 1);
    const initial = context.graph.nodes.map((node) => groupOf(ir, node));
    for (const group of initial) this.groups.set(group.id, group);
    this.dependencies = new DependencyGraph(context, initial);
    this.writeOrder = new WriteOrder(context, this.dependencies);
    this.partialWrites = new MemoryClashes(context);
  }

  *run(): Steps<Group[]> {
    for (const joiner of [epilogues, loops, epilogues, prologues]) yield* this.rounds(joiner);
    this.writeOrder.settle();
    yield;
    return inExecutionOrder([...this.groups.values()], (group) =>
      this.dependencies.successors(group),
    );
  }

  private *rounds(joiner: Joiner): Steps<void> {
    this.rejected.clear();
    // What did not change in the last round was tried there.
    let changed: ReadonlySet<Group> | null = null;
    for (let round = 0; round < MOST_ROUNDS && this.groups.size > 1; round++) {
      const joinedNow = new Set<Group>();
      const pairs = this.pairs(changed);
      yield;
      for (const { a, b } of pairs) {
        const [left, right] = [this.current(a), this.current(b)];
        const join = joiner(left, right);
        if (left === right || join === null || this.rejected.get(left)?.has(right) === true)
          continue;
        const obstacle = this.obstacle(left, right);
        const joined = obstacle === null ? join(this.context) : null;
        if (joined === null) {
          this.reject(left, right);
          log('fusion', () => `${pairText(left, right)} ${obstacle ?? UNLIKE}`);
        } else {
          log('fusion', () => `${pairText(left, right)} become one kernel`);
          this.replace(left, right, joined);
          joinedNow.delete(left);
          joinedNow.delete(right);
          joinedNow.add(joined);
        }
        yield;
      }
      if (joinedNow.size === 0) return;
      changed = joinedNow;
    }
  }

  /** Why two groups cannot be one kernel, whatever is in them. */
  private obstacle(a: Group, b: Group): string | null {
    if (this.dependencies.wouldCircle(a, b)) return CIRCLE;
    if (this.partialWrites.clash(a, b)) return OVERWRITE;
    return this.writeOrder.wouldHurry(a, b) ? HURRY : null;
  }

  private current(group: Group): Group {
    return this.dependencies.group(group.nodes[0]!);
  }

  private reject(a: Group, b: Group): void {
    const set = this.rejected.get(a) ?? new Set();
    this.rejected.set(a, set.add(b));
  }

  private replace(a: Group, b: Group, joined: Group): void {
    this.groups.delete(a.id);
    this.groups.delete(b.id);
    this.groups.set(joined.id, joined);
    this.dependencies.merge(a, b, joined);
  }

  /** The buffers that groups read or write; all that are read, if null. */
  private buffersOf(groups: ReadonlySet<Group> | null): Iterable<string> {
    const { context } = this;
    if (groups === null) return context.readers.keys();
    const found = new Set<string>();
    for (const group of groups)
      for (const node of group.nodes) {
        const { reads, writes } = context.of(node);
        for (const { buf } of [...reads, ...writes]) found.add(buf);
      }
    return found;
  }

  /** Groups that are neighbours at some buffer, of `among` if given; most bytes in common first, then nearest. */
  private pairs(among: ReadonlySet<Group> | null): Pair[] {
    const found = new Map<Group, Map<Group, Pair>>();
    const add = (a: Group, b: Group, score: number): void => {
      if (a === b) return;
      const [first, second] = a.id < b.id ? [a, b] : [b, a];
      let row = found.get(first);
      if (row === undefined) found.set(first, (row = new Map<Group, Pair>()));
      const pair = row.get(second);
      if (pair === undefined) row.set(second, { a: first, b: second, score });
      else pair.score += score;
    };
    for (const buf of this.buffersOf(among)) {
      const nodes = this.context.readers.get(buf);
      if (nodes === undefined) continue;
      const writers = this.context.writers.get(buf);
      // Nobody reads a joined buffer in a kernel that fills a part of it.
      const from = writers?.length === 1 ? this.dependencies.group(writers[0]!) : null;
      const readers = this.groupsOf(nodes);
      if (readers.length === 1 && (from === null || from === readers[0])) continue;
      const isTouched =
        among === null ||
        (from !== null && among.has(from)) ||
        readers.some((reader) => among.has(reader));
      if (!isTouched) continue;
      const bytes = this.context.bytes(buf) + 1;
      if (from !== null) {
        // With its only reader inside, the buffer need not be written either.
        const others = readers.filter((reader) => reader !== from);
        const kept = this.context.buffers.get(buf)!.output >= 0 || others.length > 1;
        for (const reader of others) add(from, reader, kept ? bytes : 2 * bytes);
      }
      for (let i = 0; i < readers.length; i++) {
        for (let j = i + 1; j < readers.length && j <= i + NEAREST_READERS; j++)
          add(readers[i]!, readers[j]!, bytes);
      }
    }
    for (const node of this.mutations) {
      for (const reader of this.context.readers.get(node.out.name) ?? [])
        add(
          this.dependencies.group(reader),
          this.dependencies.group(node),
          this.context.bytes(node.out.name),
        );
    }
    for (const parts of this.parts) {
      const groups = this.groupsOf(parts);
      for (let i = 1; i < groups.length; i++) add(groups[i - 1]!, groups[i]!, 1);
    }
    const pairs = [...found.values()].flatMap((row) => [...row.values()]);
    return pairs.sort((x, y) => y.score - x.score || distance(x) - distance(y) || x.a.id - y.a.id);
  }

  /** The groups of nodes, each once, in order. */
  private groupsOf(nodes: readonly IrNode[]): Group[] {
    if (nodes.length === 1) return [this.dependencies.group(nodes[0]!)];
    const groups = new Set<Group>();
    for (const node of nodes) groups.add(this.dependencies.group(node));
    return [...groups].sort((x, y) => x.id - y.id);
  }
}

function pairText(a: Group, b: Group): string {
  return `${describeGroup(a)} and ${describeGroup(b)}`;
}

function distance(pair: Pair): number {
  return Math.abs(pair.a.id - pair.b.id);
}

/** Cuts a lowered graph into kernels, with a pause after each pair of groups. */
export function* fusionSteps(lowering: Lowering, graph: LoweredGraph): Steps<Schedule> {
  const context = new FusionContext(lowering, graph);
  yield;
  const [node, ...others] = graph.nodes;
  // One node, as the code of an operator, has nothing to join and no order.
  if (node !== undefined && others.length === 0)
    return { context, groups: [groupOf(lowering.ir, node)] };
  const fusion = new Fusion(context);
  yield;
  return { context, groups: yield* fusion.run() };
}
