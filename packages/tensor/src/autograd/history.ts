/**
 * @file Reading and writing a tensor's place in the backward graph.
 *
 * A view of a tensor that was modified in place after the view was made has a stale gradFn: reading it
 * regenerates one that goes through the base (as PyTorch's CopySlices protocol does), or nowhere if the base was
 * detached meanwhile.
 */
import { TesseraError } from '@tessera/shared';
import { activeMode } from '../dispatch/modes.js';
import type { Tensor } from '../tensor.js';
import { AccumulateGrad } from './accumulate-grad.js';
import { autogradMeta } from './autograd-meta.js';
import type { Edge, GradNode } from './grad-node.js';
import { refuseWrittenView } from './written-view.js';
import { ViewOfBase } from './view-nodes.js';

/** Whether gradients flow into this tensor. */
export function requiresGrad(tensor: Tensor): boolean {
  if (tensor.requiresGradFlag) return true;
  const base = tensor.base;
  return base !== null && base.requiresGradFlag && viewIsStale(tensor);
}

/** The same as the program sees it: also after writes that a tracer has recorded and not run yet. */
export function seemsToRequireGrad(tensor: Tensor): boolean {
  return requiresGrad(tensor) || activeMode([tensor])?.givesGradients?.(tensor) === true;
}

/** Whether the history of a view is not that of its base any more. */
function viewIsStale(view: Tensor): boolean {
  if (!wasWrittenSince(view)) return false;
  const base = view.base!;
  // Nothing leads from what was detached to where the view's own history began.
  if (!base.requiresGradFlag) return view.autograd?.gradFn != null;
  const made = base.autograd?.gradFn ?? null;
  return made !== null && !made.standsForLeaf;
}

/** Whether the memory of a view was written to after the view got its history, or was made without one. */
export function wasWrittenSince(view: Tensor): boolean {
  const storage = view.storageOrNull;
  return (
    view.base !== null &&
    storage !== null &&
    (view.autograd?.versionAtGradFn ?? 0) !== storage.version
  );
}

/** Makes a view one whose memory was written to since: a copy of such a view must be one too. */
export function noteWrittenSince(view: Tensor): void {
  autogradMeta(view).versionAtGradFn = -1;
}

/** Marks a new view that takes no gradients, though its base does: only later updates of the base give it a history. */
export function beginWithoutHistory(view: Tensor): void {
  const { version } = view.storage;
  if (version !== 0) autogradMeta(view).versionAtGradFn = version;
}

/** Whether a tensor is a view that must not be written (`madeAs`) and was: its history cannot be read. */
export function isHistoryRefused(view: Tensor): boolean {
  return view.madeAs !== null && view.base?.requiresGradFlag === true && wasWrittenSince(view);
}

/** The node that made a tensor, or null for leaves. A lazy tensor that has history is computed first. */
export function gradFnOf(tensor: Tensor): GradNode | null {
  if (tensor.storageOrNull === null && tensor.requiresGradFlag) void tensor.storage;
  const { base } = tensor;
  if (isHistoryRefused(tensor))
    refuseWrittenView(tensor, tensor.madeAs!, 'its base or another view of its base has been');
  if (base !== null && viewIsStale(tensor)) {
    setHistory(tensor, new ViewOfBase(tensor, base, gradEdge(base)), 0);
  }
  return tensor.autograd?.gradFn ?? null;
}

/** Where a gradient for this tensor goes; null if it needs none. */
export function gradEdge(tensor: Tensor): Edge | null {
  if (!requiresGrad(tensor)) return null;
  const fn = gradFnOf(tensor);
  if (fn !== null) return { node: fn, index: tensor.autograd!.outputNr };
  const meta = autogradMeta(tensor);
  meta.accumulator ??= new AccumulateGrad(tensor);
  return { node: meta.accumulator, index: 0 };
}

/**
 * The nodes that gradients of tensors go through, with those of the leaves at which they arrive.
 *
 * @param goesOn behind which of them they do
 */
export function nodesBehind(
  tensors: readonly Tensor[],
  goesOn?: (node: GradNode) => boolean,
): Set<GradNode> {
  const seen = new Set(tensors.flatMap((tensor) => gradEdge(tensor)?.node ?? []));
  // A Set gives what is added meanwhile too.
  for (const node of seen)
    if (goesOn?.(node) !== false)
      for (const edge of node.nextEdges) if (edge !== null) seen.add(edge.node);
  return seen;
}

/** Makes `tensor` output number `outputNr` of `node`. */
export function setHistory(tensor: Tensor, node: GradNode, outputNr: number): void {
  const meta = autogradMeta(tensor);
  if (meta.retainsGrad) moveRetained(tensor, node, outputNr);
  meta.gradFn = node;
  meta.outputNr = outputNr;
  meta.versionAtGradFn = tensor.storageOrNull?.version ?? 0;
  tensor.requiresGradFlag = true;
  tensor.guardSpec = null;
}

/** A tensor that keeps its gradient keeps that of what it has become. */
function moveRetained(tensor: Tensor, node: GradNode, outputNr: number): void {
  const { gradFn, outputNr: old } = tensor.autograd!;
  if (gradFn?.retained?.get(old) === tensor) gradFn.retained.delete(old);
  (node.retained ??= new Map()).set(outputNr, tensor);
}

/** Whether code of the user sees the gradient of a tensor: its hooks, those of its node, or `grad` of one that retains it. */
export function hasGradientHooks(tensor: Tensor): boolean {
  const meta = tensor.autograd;
  if (meta === null) return false;
  if (meta.retainsGrad || (meta.postAccumulateHooks?.length ?? 0) > 0) return true;
  const node = meta.gradFn ?? meta.accumulator;
  if (node === null) return false;
  const hooks = [node.nodePreHooks, node.nodeHooks, node.preHooks?.get(meta.outputNr)];
  return hooks.some((list) => (list?.length ?? 0) > 0);
}

/** What to throw where a tensor has no history that gradients could follow. */
export function withoutHistory(text: string): TesseraError {
  return new TesseraError('no-grad-graph', text, {
    hints: ['Call requiresGrad_() on leaves before the forward pass, outside of noGrad().'],
  });
}
