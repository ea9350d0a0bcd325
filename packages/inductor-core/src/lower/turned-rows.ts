/**
 * @file Turned rows: a small product of one row whose columns are read at their own place and half a head further, as
 * rotary embeddings read keys.
 *
 * A kernel that reads columns of other workgroups has to wait for them: a launch more, for less work than launching costs.
 * So the product is summed a second time with its columns turned. Then whoever needs both reads both at one place, and
 * fusion puts it into the kernel of the product.
 */
import { sizeMul, sizeProduct } from '@tessera/shared';
import { dependents } from '../ir/dependents.js';
import type { Expr } from '../ir/expr.js';
import { extent } from '../ir/loop-vars.js';
import { operands } from '../ir/walk.js';
import {
  type IrBuffer,
  type IrNode,
  type LoweredGraph,
  type PointwiseNode,
  type ReductionNode,
  type Work,
  nodeOutputs,
  nodeRoots,
} from './ir-node.js';
import type { LoweringResult } from './lower-graph.js';
import type { Lowering } from './lowering.js';
import { type Load, nodeLoads, nodeReads } from './prune.js';
import { within } from './within.js';

/** Most elements of a matrix that is read twice: the second time it comes from cache. */
const MOST_ELEMENTS = 2 ** 21;

/** Columns of a row that a node reads at their own place, and turned by half of a variable of its. */
interface Turn {
  readonly own: Load;
  readonly turned: readonly Load[];
  readonly half: number;
}

/** A graph whose turned rows are computed where they are read. */
export function turnedRows({ lowering, graph }: LoweringResult): LoweredGraph {
  const readers = new Map<string, IrNode[]>();
  const writers = new Map<string, IrNode[]>();
  const note = (map: Map<string, IrNode[]>, name: string, node: IrNode): void => {
    const list = map.get(name);
    if (list === undefined) map.set(name, [node]);
    else list.push(node);
  };
  for (const node of graph.nodes) {
    for (const name of nodeReads(node)) note(readers, name, node);
    for (const { name } of nodeOutputs(node)) note(writers, name, node);
  }
  /** The one node that makes a buffer that is no output, if `reader` alone reads it. */
  const makerFor = (name: string, reader: IrNode): IrNode | null => {
    const [maker, ...others] = writers.get(name) ?? [];
    const isTheirs = readers.get(name)!.every((each) => each === reader);
    if (maker === undefined || others.length > 0 || !isTheirs) return null;
    return nodeOutputs(maker).some(({ output }) => output >= 0) ? null : maker;
  };
  const gone = new Set<IrNode>();
  const changed = new Map<IrNode, IrNode>();
  const added = new Map<IrNode, ReductionNode>();
  for (const node of graph.nodes) {
    if (node.kind !== 'pointwise') continue;
    for (const name of nodeReads(node)) {
      const maker = makerFor(name, node);
      const length = maker === null ? null : rowLength(maker);
      if (maker?.kind !== 'pointwise' || length === null || length !== extent(node.vars)) continue;
      const turn = turnOf(lowering, node, name);
      if (turn === null) continue;
      const { row, inside } = wholeRow(lowering, maker, makerFor);
      const sums = sumsOf(row, writers);
      if (sums === null) continue;
      const twins = new Map<string, IrBuffer>();
      for (const sum of sums) {
        const twin = twinOf(lowering, sum, turn);
        if (twin !== null) added.set(sum, twin);
        twins.set(sum.outs[0]!.name, (twin ?? sum).outs[0]!);
      }
      for (const each of inside) gone.add(each);
      changed.set(node, withRow(lowering, node, row, turn, twins));
      break;
    }
  }
  if (gone.size === 0) return graph;
  const nodes = graph.nodes.flatMap((node): IrNode[] => {
    if (gone.has(node)) return [];
    const twin = added.get(node);
    return twin === undefined ? [changed.get(node) ?? node] : [node, twin];
  });
  return { ...graph, nodes: nodes.map((node, id) => ({ ...node, id })) };
}

/** Elements of a single row that a node makes, all of them in one go. */
function rowLength(node: IrNode): number | null {
  if (node.kind === 'pointwise' && (node.mutation || node.part !== null)) return null;
  const [out] = nodeOutputs(node);
  const length = out!.sizes.at(-1);
  const isRow = typeof length === 'number' && sizeProduct(out!.sizes) === length;
  return isRow ? length : null;
}

/** A row with the rows that it alone reads, at its own places, in it: a product before its scale. Gives them all. */
function wholeRow(
  l: Lowering,
  row: PointwiseNode,
  makerFor: (name: string, reader: IrNode) => IrNode | null,
): { readonly row: PointwiseNode; readonly inside: readonly IrNode[] } {
  const inside: IrNode[] = [row];
  let whole = row;
  for (const load of nodeLoads(row)) {
    const maker = makerFor(load.buf, row);
    if (maker?.kind !== 'pointwise' || rowLength(maker) !== rowLength(row)) continue;
    // Of one row each, they have the same sizes then.
    if (maker.out.sizes.length !== row.out.sizes.length) continue;
    if (load !== l.loadBuffer(maker.out, l.vars(row.out.sizes))) continue;
    inside.push(maker);
    const value = l.substitute(whole.value, new Map(), new Map([[load, maker.value]]));
    whole = { ...whole, value, ...workOfBoth(maker, whole) };
  }
  return { row: whole, inside };
}

/** The turn by which a node reads a buffer; null where it reads it otherwise. */
function turnOf(l: Lowering, node: PointwiseNode, name: string): Turn | null {
  const { ir } = l;
  const loads = nodeLoads(node).filter(({ buf }) => buf === name);
  if (loads.length !== 3) return null;
  for (const own of loads)
    for (const { name: symbol, size } of node.vars) {
      if (typeof size !== 'number' || size % 2 !== 0) continue;
      const at = ir.sym(symbol, size);
      if (ir.mod(own.index, size) !== at) continue;
      const half = size / 2;
      const placed = (by: number): Load | undefined =>
        loads.find(({ index }) => index === ir.add(own.index, ir.int(by)));
      const [up, down] = [placed(half), placed(-half)];
      if (up === undefined || down === undefined) continue;
      const isLower = within(l, at, 0, half);
      const isUpper = within(l, at, half, size);
      if (isMasked(node, up, isLower) && isMasked(node, down, isUpper))
        return { own, turned: [up, down], half };
    }
  return null;
}

/** Whether a load is made only where a condition holds. */
function isMasked(node: PointwiseNode, load: Load, mask: Expr): boolean {
  const stack = [...nodeRoots(node)];
  const seen = new Set<Expr>();
  for (let expr = stack.pop(); expr !== undefined; expr = stack.pop()) {
    if (expr === load) return false;
    if (seen.has(expr)) continue;
    seen.add(expr);
    if (expr.kind !== 'masked' || expr.mask !== mask) stack.push(...operands(expr));
  }
  return true;
}

/** The sums that a row is made of, some of them products with small matrices; null where it is made of anything else. */
function sumsOf(
  row: PointwiseNode,
  writers: ReadonlyMap<string, readonly IrNode[]>,
): ReductionNode[] | null {
  const sums: ReductionNode[] = [];
  for (const { buf } of nodeLoads(row)) {
    const [made] = writers.get(buf) ?? [];
    if (made?.kind !== 'reduction') continue;
    const length = rowLength(made);
    const elements = length === null ? null : sizeMul(length, extent(made.inner));
    const isSmall = typeof elements === 'number' && elements <= MOST_ELEMENTS;
    if (made.op !== 'sum' || made.running || !isSmall) return null;
    if (!sums.includes(made)) sums.push(made);
  }
  return sums.some(isProduct) ? sums : null;
}

/** Whether columns differ: what a norm sums is the same for all. */
function isProduct({ value, vars }: ReductionNode): boolean {
  return dependents([value], new Set(vars.map(({ name }) => name))).has(value);
}

/** The sums of turned columns; null where they are the same. */
function twinOf(l: Lowering, sum: ReductionNode, { half }: Turn): ReductionNode | null {
  const [column] = sum.vars;
  if (column === undefined || !isProduct(sum)) return null;
  const { ir } = l;
  const [out] = sum.outs;
  const at = ir.sym(column.name, column.size);
  const whole = 2 * half;
  const turned = ir.add(
    ir.scale(ir.div(at, whole), whole),
    ir.mod(ir.add(at, ir.int(half)), whole),
  );
  return {
    ...sum,
    outs: [l.newBuffer(out!.dtype, out!.sizes, null)],
    value: l.substitute(sum.value, new Map([[column.name, turned]])),
  };
}

/** The node with the row's value in the place of its loads. */
function withRow(
  l: Lowering,
  node: PointwiseNode,
  row: PointwiseNode,
  { own, turned }: Turn,
  twins: ReadonlyMap<string, IrBuffer>,
): PointwiseNode {
  const { ir } = l;
  const valueAt = (load: Load): Expr => l.at(row.value, row.out.sizes, l.coordsOf(load));
  const values = new Map([[own, valueAt(own)]]);
  for (const load of turned) {
    const [value] = ir.rewrite([valueAt(load)], {
      // All sums are read at the row's own place.
      load: (each) => {
        const twin = twins.get(each.buf);
        return twin === undefined ? each : l.loadBuffer(twin, l.coordsOf(own));
      },
    });
    values.set(load, value);
  }
  const memo = new Map<Expr, Expr>(values);
  const value = l.substitute(node.value, new Map(), memo);
  return { ...node, value, ...workOfBoth(row, node) };
}

function workOfBoth(first: Work, second: Work): Work {
  return {
    origins: [...new Set([...first.origins, ...second.origins])],
    nodes: [...new Set([...first.nodes, ...second.nodes])],
  };
}
