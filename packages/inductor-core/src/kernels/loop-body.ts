/**
 * @file A loop group as stages: [inner: reduce] [inner: reduce, store] … [outer: store].
 *
 * A value's depth is the number of inner loops that must have finished before it is known. Reductions
 * run in the loop of their value's depth; a store runs there too, or later if the buffer it overwrites
 * is still read. Reductions of the same value are shared, and a maximum followed by a sum of
 * exponentials becomes one `online_softmax` loop. A running reduction is known in its own loop, and is
 * computed again in each later one that needs it.
 */
import type { Expr } from '../ir/expr.js';
import { operands, postorder } from '../ir/walk.js';
import type { FusionContext } from '../fuse/fusion-context.js';
import type { LoopGroup } from '../fuse/group.js';
import {
  type BodyReduce,
  type BodyStage,
  type BodyStore,
  type LoopBody,
  loadedBuffers,
} from './group-body.js';
import { orderStores } from './store-order.js';
import { onlineSoftmax } from './online-softmax.js';
import { showsMaximum } from './shown-maximum.js';

interface Flat {
  readonly reduces: BodyReduce[];
  readonly stores: BodyStore[];
  /** Buffers that each result of a reduction is in. */
  readonly named: Map<number, string[]>;
}

/** All members as reductions and stores over the group's variables. */
function flatten(context: FusionContext, group: LoopGroup): Flat {
  const { ir } = context.lowering;
  const nodes = new Set(group.nodes);
  const values = new Map<string, Expr>();
  const made = new Map<string, readonly number[]>();
  const flat: Flat = { reduces: [], stores: [], named: new Map() };
  let nextId = 0;
  const interned = new Map<Expr, number>();
  const numberOf = (expr: Expr): number => {
    if (!interned.has(expr)) interned.set(expr, interned.size);
    return interned.get(expr)!;
  };
  for (const member of group.members) {
    const { node } = member;
    const [value] = ir.rewrite([node.value], {
      symbol: (name) => member.place.get(name),
      load: (load) => values.get(load.buf),
    });
    const store = (at: number, stored: Expr, inner: boolean): void => {
      const write = context.of(node).writes[at]!;
      if (context.isStored(write.buf, nodes))
        flat.stores.push({
          buffer: context.buffers.get(write.buf)!,
          index: context.indexIn(member, write),
          value: stored,
          inner,
          ...(node.kind === 'pointwise' && node.combine !== null && { combine: node.combine }),
        });
    };
    if (node.kind === 'pointwise') {
      if (!node.mutation && node.part === null) values.set(node.out.name, value);
      store(0, value, member.inner);
      continue;
    }
    const key = `${node.op}:${node.running}:${node.dtype}:${numberOf(value)}`;
    let ids = made.get(key);
    if (ids === undefined) {
      ids = node.outs.map(() => nextId++);
      made.set(key, ids);
      for (const id of ids) flat.named.set(id, []);
      flat.reduces.push({ op: node.op, ids, dtype: node.dtype, value, running: node.running });
    }
    node.outs.forEach((out, i) => {
      const result = ir.acc(node.dtype, ids[i]!);
      values.set(out.name, result);
      flat.named.get(ids[i]!)!.push(out.name);
      store(i, result, node.running);
    });
  }
  return flat;
}

/** Depth of expressions, given that of finished results. */
class Depths {
  private readonly known = new Map<Expr, number>();
  readonly results = new Map<number, number>();

  of(root: Expr): number {
    for (const expr of postorder([root])) {
      if (this.known.has(expr)) continue;
      let depth = expr.kind === 'acc' ? this.results.get(expr.id)! : 0;
      for (const operand of operands(expr)) depth = Math.max(depth, this.known.get(operand)!);
      this.known.set(expr, depth);
    }
    return this.known.get(root)!;
  }
}

/** Whether a backend may compute the reduction in two passes over the stage. */
export function mayTakeTwoPasses(reduce: BodyReduce): boolean {
  return reduce.ids.length > 1;
}

/** The scans that statements of a stage need, in the order in which they can be computed. */
function neededScans(
  running: readonly BodyReduce[],
  statements: readonly { readonly value: Expr }[],
): BodyReduce[] {
  const needed = new Set<BodyReduce>();
  const need = (root: Expr): void => {
    for (const expr of postorder([root])) {
      const scan = running.find(({ ids }) => expr.kind === 'acc' && ids[0] === expr.id);
      if (scan === undefined || needed.has(scan)) continue;
      needed.add(scan);
      need(scan.value);
    }
  };
  if (running.length > 0) for (const { value } of statements) need(value);
  return running.filter((scan) => needed.has(scan));
}

/** Cuts a loop group into stages. */
export function loopBody(context: FusionContext, group: LoopGroup): LoopBody {
  const flat = flatten(context, group);
  if (group.inner.length === 0) {
    return {
      kind: 'loop',
      outer: group.outer,
      inner: [],
      stages: [{ kind: 'outer', reduces: [], stores: orderStores(flat.stores) }],
    };
  }
  return inStages(context, group, flat);
}

/** A group with inner loops: what is reduced is known to the stages behind it. */
function inStages(context: FusionContext, group: LoopGroup, flat: Flat): LoopBody {
  const running = flat.reduces.filter((reduce) => reduce.running);
  const { named } = flat;
  const reduces = onlineSoftmax(
    flat.reduces.filter((reduce) => !reduce.running),
    (maximum, sum) => showsMaximum(context, named.get(maximum)!, named.get(sum)!),
  );
  const depths = new Depths();
  const stages: { reduces: BodyReduce[]; stores: BodyStore[] }[] = [];
  const stage = (depth: number): { reduces: BodyReduce[]; stores: BodyStore[] } => {
    while (stages.length <= depth) stages.push({ reduces: [], stores: [] });
    return stages[depth]!;
  };
  // Last loop in which each buffer is read: what overwrites it must not run earlier.
  const lastRead = new Map<string, number>();
  const reads = (value: Expr, depth: number): void => {
    for (const name of loadedBuffers([value]))
      lastRead.set(name, Math.max(lastRead.get(name) ?? 0, depth));
  };
  // Results are numbered in the order in which they can be computed.
  for (const reduce of [...reduces, ...running].sort((a, b) => a.ids[0]! - b.ids[0]!)) {
    const depth = depths.of(reduce.value);
    for (const id of reduce.ids) depths.results.set(id, reduce.running ? depth : depth + 1);
    if (!reduce.running) stage(depth).reduces.push(reduce);
  }
  stages.forEach((s, depth) => {
    // A stage that may run in two passes keeps what it reduces intact.
    const until = s.reduces.some(mayTakeTwoPasses) ? depth + 1 : depth;
    for (const reduce of s.reduces) reads(reduce.value, until);
  });
  const innerStores = flat.stores.filter((store) => store.inner);
  const placed = new Map(innerStores.map((store) => [store, depths.of(store.value)]));
  const deepest = Math.max(stages.length - 1, ...placed.values());
  const until = deepest + Number(reduces.some(mayTakeTwoPasses));
  for (const scan of running) reads(scan.value, until);
  // A store that waits for a reader reads later itself, which may make others wait in turn.
  for (let changed = true; changed;) {
    for (const [store, depth] of placed) reads(store.value, depth);
    changed = false;
    for (const [store, depth] of placed) {
      const wait = store.buffer.kind === 'input' ? (lastRead.get(store.buffer.name) ?? 0) : 0;
      if (wait > depth) {
        placed.set(store, wait);
        changed = true;
      }
    }
  }
  for (const store of innerStores) stage(placed.get(store)!).stores.push(store);
  const result: BodyStage[] = stages.map((s) => ({
    kind: 'inner',
    reduces: [...neededScans(running, [...s.reduces, ...s.stores]), ...s.reduces],
    stores: orderStores(s.stores),
  }));
  const outerStores = flat.stores.filter((store) => !store.inner);
  if (outerStores.length > 0)
    result.push({ kind: 'outer', reduces: [], stores: orderStores(outerStores) });
  return {
    kind: 'loop',
    outer: group.outer,
    inner: group.inner,
    stages: result.filter((s) => s.reduces.length + s.stores.length > 0),
  };
}
