/**
 * @file Common subexpression elimination: the same op on the same values is computed once.
 *
 * Never merges random, mutating or uninitialised ops, results that are written later, ops with a write
 * to one of their inputs in between, or two results that both leave the graph (the caller could tell
 * that they became one tensor). Modelled on functorch's fx_graph_cse.
 */
import {
  AliasSets,
  type GraphModule,
  type Node,
  isImpure,
  tensorVals,
  writtenInputs,
} from '@tessera/graph';
import { type Steps, atOnce } from '@tessera/shared';
import { type Storage, type Tensor, isTensor } from '@tessera/tensor';
import { makeTensor, sameNumbers } from '@tessera/tensor/internal';
import { type Pass, passOf } from './pass.js';
import { hashCall, sameCall } from './structural-key.js';

interface Candidate {
  readonly node: Node;
  /** Write counts of the inputs' memory when the node ran. */
  readonly versions: readonly number[];
}

/** Merges common subexpressions; returns how many nodes it removed. */
export function fxGraphCse(module: GraphModule): number {
  return atOnce(cseSteps(module));
}

function* cseSteps(module: GraphModule): Steps<number> {
  const sets = new AliasSets(module.graph);
  const versions = new Map<Node, number>();
  const buckets = new Map<number, Candidate[]>();
  const moved = new Map<Storage, Storage>();
  let removed = 0;
  for (const node of module.graph.nodes) {
    yield;
    for (const target of writtenInputs(node)) bump(versions, sets.root(target));
    if (moved.size > 0) followStorages(node, moved);
    if (!isCandidate(node, sets)) continue;
    const seen = isView(node)
      ? []
      : node.allInputNodes().map((input) => versions.get(sets.root(input)) ?? 0);
    const hash = hashCall(node);
    const bucket = buckets.get(hash);
    const same = bucket?.find(
      (other) => sameNumbers(other.versions, seen) && sameCall(other.node, node),
    );
    if (same !== undefined && !(leaves(node, sets) && leaves(same.node, sets))) {
      rememberStorages(node, same.node, moved);
      node.replaceAllUsesWith(same.node);
      module.graph.eraseNode(node);
      // What stays leaves the graph now if what it stands for did.
      sets.merge(node, same.node);
      removed++;
    } else if (bucket === undefined) buckets.set(hash, [{ node, versions: seen }]);
    else if (same === undefined) bucket.push({ node, versions: seen });
  }
  return removed;
}

/** The pass. */
export const cse: Pass = passOf('cse', cseSteps);

function isCandidate(node: Node, sets: AliasSets): boolean {
  if (node.op === 'get_attr') return true;
  if (node.op !== 'call_function' || isImpure(node)) return false;
  if (typeof node.target === 'object' && node.target.hasTag('uninitialized')) return false;
  return isView(node) || !sets.isWritten(node);
}

/** Views of the same value are the same memory whatever is written to it. */
function isView(node: Node): boolean {
  return typeof node.target === 'object' ? node.target.isView : node.op !== 'call_module';
}

/** Whether the caller gets the value: for views only if it is returned itself. */
function leaves(node: Node, sets: AliasSets): boolean {
  if (!isView(node)) return sets.escapes(node);
  return [...node.users.keys()].some((user) => user.op === 'output');
}

function bump(versions: Map<Node, number>, root: Node): void {
  versions.set(root, (versions.get(root) ?? 0) + 1);
}

/** The vals of views of a removed node must name the memory of the node that stays. */
function rememberStorages(removed: Node, kept: Node, moved: Map<Storage, Storage>): void {
  const to = tensorVals(kept);
  tensorVals(removed).forEach((val, i) => {
    if (val.storage !== to[i].storage) moved.set(val.storage, to[i].storage);
  });
}

function followStorages(node: Node, moved: ReadonlyMap<Storage, Storage>): void {
  const { val } = node.meta;
  if (isTensor(val)) node.meta.val = follow(val, moved);
  else if (Array.isArray(val)) node.meta.val = val.map((item) => item && follow(item, moved));
}

function follow(val: Tensor, moved: ReadonlyMap<Storage, Storage>): Tensor {
  const storage = moved.get(val.storage);
  if (storage === undefined) return val;
  const copy = makeTensor(
    storage,
    val.dtype,
    val.device,
    val.sizes,
    val.strides,
    val.storageOffset,
  );
  copy.requiresGradFlag = val.requiresGradFlag;
  return copy;
}
