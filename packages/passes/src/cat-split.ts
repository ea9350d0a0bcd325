/**
 * @file Simplifies joins and cuts: a cut undoes the join before it, a join the cut, and joins of joins are one.
 *
 * Results that become an earlier value share its memory, so they are replaced only where nobody can tell
 * (`AliasSets.mayShare`).
 */
import { AliasSets, type GraphModule, Node, getItem, tensorVal } from '@tessera/graph';
import { isTensor } from '@tessera/tensor';
import { contiguousStrides, getOp, sameNumbers } from '@tessera/tensor/internal';
import { isAddressed } from './addressed.js';
import { reinferVals } from './infer-vals.js';
import type { Pass } from './pass.js';
import { sameLayout } from './structural-key.js';

const CAT = getOp('aten::cat');
const SPLITS: ReadonlySet<unknown> = new Set([
  getOp('aten::split_with_sizes'),
  getOp('aten::split.Tensor'),
  getOp('aten::chunk'),
]);

/** Simplifies joins and cuts; returns how many nodes it replaced or changed. */
export function simplifyCatSplit(module: GraphModule): number {
  const { nodes } = module.graph;
  if (!nodes.some((node) => node.target === CAT)) return 0;
  let changed = 0;
  const sets = new AliasSets(module.graph);
  const moved = new Set<Node>();
  for (const node of nodes) {
    if (node.op !== 'call_function') continue;
    if (node.target === CAT && flattenJoin(node, sets)) changed++;
    const same = node.target === CAT ? joinedWhole(node) : cutPart(node);
    if (same === null || !agree(node, same, sets) || !sets.mayShare(node, same)) continue;
    if (!sameLayout(tensorVal(node)!, tensorVal(same)!)) moved.add(same);
    node.replaceAllUsesWith(same);
    sets.merge(node, same);
    module.graph.eraseNode(node);
    changed++;
  }
  if (moved.size > 0) reinferVals(module, moved);
  return changed;
}

/** The pass. */
export const catSplit: Pass = { name: 'cat-split', run: (module) => simplifyCatSplit(module) > 0 };

/** cat([cat([a, b]), c]) → cat([a, b, c]) where nobody else reads the inner join. */
function flattenJoin(join: Node, sets: AliasSets): boolean {
  const items = join.inputList();
  const isInner = (item: Node): boolean =>
    item.target === CAT &&
    item.users.size === 1 &&
    items.indexOf(item) === items.lastIndexOf(item) &&
    wrapped(item) === wrapped(join) &&
    // The outer join reads later than the inner one did.
    !item.inputList().some((part) => sets.isWritten(part)) &&
    tensorVal(item)?.dtype === tensorVal(join)?.dtype;
  if (!items.some(isInner)) return false;
  const inner = items.filter(isInner);
  join.updateArg(
    0,
    items.flatMap((item) => (isInner(item) ? item.inputList() : [item])),
  );
  for (const item of inner) join.graph.eraseNode(item);
  return true;
}

/** What a join of all parts of a cut, in order, was before. */
function joinedWhole(join: Node): Node | null {
  const items = join.inputList();
  if (items.length === 1) return items[0]!;
  const cut = items[0]!.args[0];
  if (!(cut instanceof Node) || !SPLITS.has(cut.target)) return null;
  if (!Array.isArray(cut.meta.val) || cut.meta.val.length !== items.length) return null;
  if (cutDim(cut) !== wrapped(join)) return null;
  const inOrder = items.every(
    (item, i) => item.target === getItem && item.args[0] === cut && item.args[1] === i,
  );
  return inOrder ? cut.input() : null;
}

/** The part of a join that a cut takes out again. */
function cutPart(part: Node): Node | null {
  if (part.target !== getItem) return null;
  const cut = part.input();
  if (!SPLITS.has(cut.target)) return null;
  const join = cut.input();
  if (join.target !== CAT || cutDim(cut) !== wrapped(join)) return null;
  const items = join.inputList();
  const parts = cut.meta.val;
  if (!Array.isArray(parts) || parts.length !== items.length) return null;
  const dim = wrapped(join);
  const fits = items.every((item, i) => {
    const val: unknown = parts[i];
    return isTensor(val) && tensorVal(item)?.sizes[dim] === val.sizes[dim];
  });
  return fits ? items[part.number(1)]! : null;
}

/**
 * Whether a value may be another one with the same contents: nobody counts in its memory or gets it as a part
 * of something else, and views of it are views of the other one too.
 */
function agree(node: Node, same: Node, sets: AliasSets): boolean {
  const [a, b] = [tensorVal(node), tensorVal(same)];
  if (a === null || b === null || isAddressed(node)) return false;
  const isPart = node.target === getItem;
  if (isPart && sets.escapes(node)) return false;
  if (sameLayout(a, b)) return true;
  const lines = a.dtype === b.dtype && sameNumbers(a.sizes, b.sizes);
  return isPart && lines && sameNumbers(b.strides, contiguousStrides(b.sizes));
}

function wrapped(join: Node): number {
  const dim = join.number(1);
  return dim < 0 ? dim + tensorVal(join)!.ndim : dim;
}

function cutDim(cut: Node): number {
  const dim = cut.number(2);
  return dim < 0 ? dim + tensorVal(cut.input())!.ndim : dim;
}
