/**
 * @file Hooks on what the backward graph saves: pack it when the forward pass saves it, unpack it when backward
 * reads it.
 */
import { type RunInScope, scopesOf, checkFunction } from '@tessera/shared';
import { untraced } from '../dispatch/untraced.js';
import type { Tensor } from '../tensor.js';

/** What to keep instead of a saved tensor, and how to get it back. */
export interface SavedTensorHooks<P = unknown> {
  /** Called with each tensor that an operator saves; what it returns is kept. */
  pack(tensor: Tensor): P;
  /** Makes the tensor again: its values; its place in the graph comes back by itself. */
  unpack(packed: P): Tensor;
}

/** The hooks in force; read whenever a tensor is saved. */
export const savedTensorHooks: { active: SavedTensorHooks | null } = { active: null };

/**
 * Runs `fn`; operators recorded meanwhile save their tensors through `hooks`. The innermost scope counts.
 *
 * Inside a compiled function that is a graph break, and `fn` runs eagerly. A compiled function called by `fn` gives
 * the hooks what its backward keeps.
 *
 * @see torch.autograd.graph.saved_tensors_hooks
 * @example
 * withSavedTensorHooks(
 *   { pack: (t) => t.to('float16'), unpack: (t) => t.to('float32') },
 *   () => model.forward(x),
 * );
 */
export function withSavedTensorHooks<P, R>(hooks: SavedTensorHooks<P> | null, fn: () => R): R {
  checkFunction('withSavedTensorHooks', fn);
  return untraced('hooks see saved tensors', () => withPackedSaves(hooks, fn));
}

/** The same for hooks of the library, which graphs may hold. */
export const withPackedSaves: RunInScope<SavedTensorHooks | null> = /* @__PURE__ */ scopesOf(
  () => savedTensorHooks.active,
  (hooks) => (savedTensorHooks.active = hooks),
);
