/**
 * @file `tidy`: a scope that releases the tensors made in it.
 */
import { treeLeaves } from '@tessera/shared';
import type { TensorBase } from '../tensor-base.js';
import { TensorBase as Base } from '../tensor-base.js';

/** Tensors made in the innermost open scope, or null. */
let scope: TensorBase[] | null = null;

/** Tells the open scope about a new tensor; called by the constructor. */
export function noteAlive(tensor: TensorBase): void {
  if (scope !== null) scope.push(tensor);
}

/**
 * Runs `fn` and releases every tensor made inside, except those it returns (in any nesting) and
 * those that share memory with them. Nests: what an inner scope returns belongs to the outer one.
 */
export function tidy<R>(fn: () => R): R {
  const outer = scope;
  const made: TensorBase[] = [];
  scope = made;
  let result: R;
  try {
    result = fn();
  } catch (error) {
    releaseExcept(made, []);
    throw error;
  } finally {
    scope = outer;
  }
  const kept = treeLeaves(result).filter((leaf): leaf is TensorBase => leaf instanceof Base);
  releaseExcept(made, kept);
  if (outer !== null) for (const tensor of kept) outer.push(tensor);
  return result;
}

function releaseExcept(made: readonly TensorBase[], kept: readonly TensorBase[]): void {
  const storages = new Set(kept.map((tensor) => tensor.storageOrNull));
  for (const tensor of made) {
    const storage = tensor.storageOrNull;
    // A gradient or a saved value of a kept tensor must outlive the scope.
    if (storage === null || storages.has(storage) || tensor.requiresGradFlag) continue;
    storage.release();
  }
}

/** Keeps a tensor (a gradient, a cached value) beyond the open scope. */
export function keep<T extends TensorBase>(tensor: T): T {
  if (scope !== null) {
    const at = scope.indexOf(tensor);
    if (at >= 0) scope.splice(at, 1);
  }
  return tensor;
}
