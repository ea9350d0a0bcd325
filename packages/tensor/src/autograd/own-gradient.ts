/**
 * @file Gradients that nobody but the library can hold, and how their memory is returned.
 *
 * A leaf *owns* its gradient if the library made it in memory of its own and the program never got it: the
 * public `.grad`, hooks and `grad()` count as getting it; the library reads gradients with `gradientOf`, and
 * keeps none. The memory of such a gradient is released as soon as the leaf drops it. See docs/adr/0022.
 */
import { activeMode, modes } from '../dispatch/modes.js';
import { libraryScopes } from '../memory/library-scope.js';
import { keep } from '../memory/tidy.js';
import type { Tensor } from '../tensor.js';
import { autogradMeta } from './autograd-meta.js';
import { zeroDetached } from './gradient-ops.js';

/** The gradient of a leaf for library code that does not keep it: the leaf still owns it afterwards. */
export function gradientOf(leaf: Tensor): Tensor | null {
  return leaf.autograd?.grad ?? null;
}

/** Gives a leaf a gradient whose memory nobody else has, or will have, beyond any `tidy`: also a lazy one. */
export function setOwnGradient(leaf: Tensor, grad: Tensor): void {
  const meta = autogradMeta(leaf);
  meta.grad = meta.ownGrad = keep(grad);
}

/** Whether nobody but the library can hold the gradient of a leaf. */
export function ownsGradient(leaf: Tensor): boolean {
  const meta = leaf.autograd;
  return meta !== null && meta.grad !== null && meta.ownGrad === meta.grad;
}

/**
 * Sets `.grad` to null, and releases its memory if nobody else can hold it. A tracer releases it itself, once
 * the operators that it has recorded do not need it any more.
 */
export function dropGradient(leaf: Tensor): void {
  replaceGradient(leaf, null);
}

/** Sets `.grad` to what the program gives, which the leaf then holds beyond any `tidy`, or null; drops the one before. */
export function replaceGradient(leaf: Tensor, value: Tensor | null): void {
  const mode = activeMode([leaf]);
  mode?.onSetGrad(leaf, value);
  const meta = autogradMeta(leaf);
  const { grad, ownGrad } = meta;
  meta.grad = value && keep(value);
  meta.ownGrad = null;
  if (grad === null || grad === value || grad !== ownGrad) return;
  if (mode === null) releaseUnseen(grad);
  else mode.onDrop?.(grad);
}

/** Sets the gradient of a leaf to zero, in place; one that has history is replaced by one that has none. */
export function zeroGradient(leaf: Tensor): void {
  const grad = gradientOf(leaf);
  if (grad === null) return;
  const isOwn = ownsGradient(leaf);
  const zeroed = keep(zeroDetached(grad));
  activeMode([leaf])?.onSetGrad(leaf, zeroed);
  const meta = autogradMeta(leaf);
  meta.grad = zeroed;
  meta.ownGrad = isOwn ? zeroed : null;
}

/**
 * Releases the memory of a gradient that its leaf has owned and dropped, unless the program has seen it on
 * another way (a hook). Nothing that still runs may read it; a backward pass keeps it to its end.
 */
export function releaseUnseen(grad: Tensor): void {
  const storage = grad.storageOrNull;
  if (storage === null || storage.shown) return;
  // A suspended call may have recorded operators that read it.
  if (modes.suspended !== null) return;
  if (libraryScopes.backward !== null) libraryScopes.backward.add(storage);
  else storage.free();
}
