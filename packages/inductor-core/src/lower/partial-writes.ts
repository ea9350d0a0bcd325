/**
 * @file Which updates of inputs are writes of parts of them, found in a functional graph before it is lowered.
 *
 * Functionalization makes `cache.slice(2, at, at + 1).copy_(k)` into a scatter, whose result has the whole cache's size,
 * and a `copy_` at the end. Where the program needs the contents before the write nowhere after it, the part is stored
 * into the input's memory instead (in-place-write.ts), as by the reinplacing pass of PyTorch's inductor. A chain of
 * scatters from the input to its `copy_` is one write each; scatters through views (`cache.select(0, layer).slice(…)`)
 * are one write with the views on the way.
 */
import { type Argument, Node, getItem, tensorVal } from '@tessera/graph';
import { SymInt } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import { sameNumbers, wrapDim } from '@tessera/tensor/internal';
import { operatorOf } from './node-uses.js';

/** A view through which a part is written, and the node that holds what the view shows a part of, after the write. */
export interface WriteStep {
  readonly view: Node;
  readonly after: Node;
}

/** A write of a part of an input. */
export interface PartialWrite {
  /** Contents of the memory before: the input, or the result of the write before. */
  readonly base: Node;
  /** What says which part is written with what; its first operand is `base` or a view of it. */
  readonly scatter: Node;
  /** From the scatter outwards; empty if it writes to `base` itself. */
  readonly steps: readonly WriteStep[];
}

/** See the file header. */
export interface PartialWrites {
  /** Writes by their scatters. */
  readonly byScatter: ReadonlyMap<Node, PartialWrite>;
  /** Nodes that have their values when the writes are made: what lies between a scatter and the whole. */
  readonly made: ReadonlySet<Node>;
  /** `copy_` nodes with nothing left to do. */
  readonly done: ReadonlySet<Node>;
}

/** What a graph's analysis asks of those who lower it. */
export interface WriteQuestions {
  /** Arguments with expressions of symbolic sizes. */
  argsOf(node: Node): readonly Argument[];
  /** Whether a scatter can be lowered as stores of its part. */
  canPlace(scatter: Node): boolean;
}

/** Elements that must be left alone by a write: to choose them again in another kernel is cheaper than a launch. */
const FEWEST_KEPT = 2048;

/** Tags of operators that have read their operands when they are lowered. */
const MADE_AT_ONCE = ['compute-intensive', 'reduction'] as const;

/** Views that are undone by the view back to the former shape. */
const RESHAPES: ReadonlySet<string> = new Set(
  ['view', '_unsafe_view', 'reshape', 'unsqueeze', 'squeeze', 'squeeze.dim', 'squeeze.dims'].map(
    (name) => `aten::${name}`,
  ),
);

/** Scatters and the views of what they write to. */
const VIEW_OF_SCATTER: ReadonlyMap<string, string> = new Map([
  ['aten::slice_scatter', 'aten::slice.Tensor'],
  ['aten::select_scatter', 'aten::select.int'],
  ['aten::diagonal_scatter', 'aten::diagonal'],
]);

/** Scatters whose part is found by run-time indices. */
const INDEXED: ReadonlySet<string> = new Set([
  'aten::index_copy',
  'aten::index_put',
  'aten::scatter.src',
  'aten::scatter.value',
]);

function nameOf(node: Node): string {
  return operatorOf(node)?.qualifiedName ?? '';
}

/** The writes of a graph. */
export function findPartialWrites(
  nodes: readonly Node[],
  questions: WriteQuestions,
): PartialWrites {
  const byScatter = new Map<Node, PartialWrite>();
  const made = new Set<Node>();
  const done = new Set<Node>();
  const order = new Map(nodes.map((node, i) => [node, i]));
  const chains = [...updatesOf(nodes)].flatMap(([input, copies]) => {
    const [copy] = copies;
    const writes = copies.length > 1 ? null : chainOf(copy, input, questions);
    return writes === null ? [] : [{ input, copy, writes }];
  });
  const written = new Set(chains.flatMap(({ writes }) => writes.map(({ scatter }) => scatter)));
  for (const { input, copy, writes } of chains) {
    if (!isWorthIt(input, writes, copy, { order, written })) continue;
    done.add(copy);
    for (const write of writes) {
      byScatter.set(write.scatter, write);
      for (const { after } of write.steps) made.add(after);
    }
  }
  return { byScatter, made, done };
}

/** Places of a graph's nodes, and the scatters that may become writes. */
interface GraphFacts {
  readonly order: ReadonlyMap<Node, number>;
  readonly written: ReadonlySet<Node>;
}

/** The `copy_` nodes of each input. */
function updatesOf(nodes: readonly Node[]): Map<Node, Node[]> {
  const updates = new Map<Node, Node[]>();
  for (const node of nodes) {
    if (nameOf(node) !== 'aten::copy_') continue;
    const input = node.input();
    updates.set(input, [...(updates.get(input) ?? []), node]);
  }
  return updates;
}

/** The writes that lead from an input to its last contents, in order; null if something else does. */
function chainOf(copy: Node, input: Node, questions: WriteQuestions): PartialWrite[] | null {
  const writes: PartialWrite[] = [];
  for (let at = copy.args[1]; at !== input;) {
    const write = at instanceof Node ? writeOf(at, questions) : null;
    if (write === null || !questions.canPlace(write.scatter)) return null;
    writes.push(write);
    at = write.base;
  }
  return writes.length === 0 ? null : writes.reverse();
}

/** What a node that has the contents after a write wrote. */
function writeOf(result: Node, questions: WriteQuestions): PartialWrite | null {
  const path: Node[] = [];
  for (let at: Argument = result; at instanceof Node;) {
    const name = nameOf(at);
    const isScatter = VIEW_OF_SCATTER.has(name);
    if (!isScatter && !INDEXED.has(name) && !isRearranging(at)) break;
    path.push(at);
    if (INDEXED.has(name)) break;
    at = at.args[isScatter ? 1 : 0];
  }
  let write: PartialWrite | null = null;
  for (const node of path.reverse()) {
    const isScatter = VIEW_OF_SCATTER.has(nameOf(node)) || INDEXED.has(nameOf(node));
    const undone: Node | null = write === null ? null : undoneBy(node, write.base, questions);
    if (undone !== null)
      write = {
        ...write!,
        base: undone,
        steps: [...write!.steps, { view: write!.base, after: node }],
      };
    else write = isScatter ? { base: node.input(), scatter: node, steps: [] } : null;
  }
  return write;
}

function isRearranging(node: Node): boolean {
  return RESHAPES.has(nameOf(node)) || permutationOf(node) !== null;
}

/** What `view` is a view of, if `node` puts the view's new contents back into it. */
function undoneBy(node: Node, view: Node, { argsOf }: WriteQuestions): Node | null {
  const whole = view.args[0];
  if (operatorOf(view) === null || !(whole instanceof Node)) return null;
  const [from, to] = [tensorVal(whole), tensorVal(node)];
  if (from === null || to === null || !sameNumbers(from.sizes, to.sizes)) return null;
  const scattered = VIEW_OF_SCATTER.get(nameOf(node));
  if (scattered !== undefined) {
    const isSame =
      nameOf(view) === scattered &&
      node.args[0] === whole &&
      sameArguments(argsOf(view).slice(1), argsOf(node).slice(2));
    return isSame ? whole : null;
  }
  if (RESHAPES.has(nameOf(node))) return RESHAPES.has(nameOf(view)) ? whole : null;
  const [there, back] = [permutationOf(view), permutationOf(node)];
  return there !== null && back?.every((from, d) => there[from] === d) === true ? whole : null;
}

/** Dimension of the operand that each dimension of the result is. */
function permutationOf(node: Node): number[] | null {
  const rank = tensorVal(node)?.ndim ?? 0;
  const order = Array.from({ length: rank }, (_, d) => d);
  const swap = (a: number, b: number): number[] => {
    if (rank > 0) [order[a], order[b]] = [order[b]!, order[a]!];
    return order;
  };
  switch (nameOf(node)) {
    case 'aten::permute':
      return node.numbers(1).map((d) => wrapDim(d, rank, 'aten::permute'));
    case 'aten::transpose.int': {
      const at = (i: number): number => wrapDim(node.number(i), rank, 'transpose');
      return rank === 0 ? order : swap(at(1), at(2));
    }
    case 'aten::t':
      return rank < 2 ? order : swap(0, 1);
    default:
      return null;
  }
}

/** Equal for all sizes: symbolic ones are the same expression. */
function sameArguments(a: readonly Argument[], b: readonly Argument[]): boolean {
  const text = (arg: Argument): string =>
    arg instanceof SymInt ? `[${String(arg)}]` : String(arg);
  return a.length === b.length && a.every((arg, i) => text(arg) === text(b[i]));
}

/**
 * Whether storing parts saves memory traffic: enough of the input is left alone, and what is needed of the contents
 * before a write after it is little, because it gets memory (in-place-write.ts).
 */
function isWorthIt(
  input: Node,
  writes: readonly PartialWrite[],
  copy: Node,
  { order, written }: GraphFacts,
): boolean {
  const whole = tensorVal(input);
  if (whole === null) return false;
  let saved = whole.numel;
  let earlier: readonly Node[] = [input];
  for (const { scatter, steps, base } of writes) {
    const at = order.get(scatter)!;
    const own = new Set([scatter, copy, ...steps.map(({ after }) => after)]);
    const isLater = (user: Node): boolean => !own.has(user) && order.get(user)! > at;
    const kept = bytesNeededLater([base, ...earlier], at, { order, written }, isLater);
    if (kept > bytesOf(input) / 4) return false;
    saved -= partOf(scatter);
    earlier = [scatter, ...steps.map(({ after }) => after)];
  }
  return saved >= FEWEST_KEPT;
}

function bytesOf(node: Node): number {
  const val = tensorVal(node);
  return val === null ? 0 : val.numel * itemSize(val.dtype);
}

/** Elements that a scatter writes. */
function partOf(scatter: Node): number {
  const { args } = scatter;
  const part =
    nameOf(scatter) === 'aten::index_copy'
      ? args[3]
      : args[nameOf(scatter).startsWith('aten::scatter') ? 2 : 1];
  if (part instanceof Node) return tensorVal(part)?.numel ?? Infinity;
  return indexedCount(scatter);
}

/** Elements that an `index_put` writes, at most. */
function indexedCount({ args }: Node): number {
  const whole = tensorVal(args[0])!;
  const indices = [args[1]].flat();
  const shared = Math.max(
    ...indices.map((index) => (index == null ? 1 : (tensorVal(index)?.numel ?? Infinity))),
  );
  return whole.sizes.reduce((n, size, d) => (indices[d] == null ? n * size : n), shared);
}

/** Bytes of what is computed before place `at` out of what `values` hold, and needed after it. */
function bytesNeededLater(
  values: readonly Node[],
  at: number,
  { order, written }: GraphFacts,
  isLater: (user: Node) => boolean,
): number {
  let bytes = 0;
  const reading = new Set(values);
  for (const value of reading) {
    const users = [...value.users.keys()];
    if (users.some(isLater)) bytes += bytesOf(value);
    for (const user of users) {
      const op = operatorOf(user);
      // Products and reductions have memory of their own.
      const isLazy =
        op === null ? user.target === getItem : !MADE_AT_ONCE.some((tag) => op.hasTag(tag));
      if (isLazy && order.get(user)! < at && !written.has(user)) reading.add(user);
    }
  }
  return bytes;
}
