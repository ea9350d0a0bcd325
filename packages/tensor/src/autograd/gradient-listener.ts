/**
 * @file `GradientListener`: a library that does something with gradients once `backward()` has computed them.
 *
 * DistributedDataParallel reduces them over processes. Unlike hooks, which are the program's and may do anything, a
 * listener computes with operators only, the same ones for the same leaves, so a captured `backward()` need not end
 * its graph: what the listener does after it is captured like what the program does.
 */
import type { Tensor } from '../tensor.js';
import { autogradMeta } from './autograd-meta.js';

/** See the file header. Runs without gradients being recorded. */
export interface GradientListener {
  /** The engine has added what it computed to the gradient of a leaf, and goes on. In order of arrival. */
  arrived(leaf: Tensor): void;
  /** The engine is done, and `backward()` is about to return. */
  finished(): void;
  /** A captured `backward()` gives gradients to these leaves; what the listener computes becomes part of the graph. */
  captured(leaves: readonly Tensor[]): void;
}

/** Tells the listener of the gradients of a leaf; null for nobody. */
export function setGradientListener(leaf: Tensor, listener: GradientListener | null): void {
  autogradMeta(leaf).listener = listener;
}

/** The listener to a leaf's gradients. */
export function gradientListenerOf(leaf: Tensor): GradientListener | null {
  return leaf.autograd?.listener ?? null;
}

/** Tells listeners of the gradients that a captured `backward()` gives to leaves. */
export function announceCaptured(leaves: readonly Tensor[]): void {
  const told = new Map<GradientListener, Tensor[]>();
  for (const leaf of leaves) {
    const listener = gradientListenerOf(leaf);
    if (listener === null) continue;
    const list = told.get(listener);
    if (list === undefined) told.set(listener, [leaf]);
    else list.push(leaf);
  }
  for (const [listener, list] of told) listener.captured(list);
}
