/**
 * @file `tidy`: a scope that releases the tensors made in it.
 *
 * Released is memory, so what a kept tensor shares its memory with lives on too. Gradients of leaves,
 * optimizer state and parameters are kept by those who hold them (`keep`).
 */
import { treeLeaves } from '@tessera/shared';
import type { TensorBase } from '../tensor-base.js';
import { TensorBase as Base } from '../tensor-base.js';

/** An open scope. */
interface Scope {
  readonly made: TensorBase[];
  /** Tensors made inside that outlive it. */
  readonly kept: Set<TensorBase>;
  readonly outer: Scope | null;
}

/** The innermost open scope. */
let scope: Scope | null = null;

/** Tells the open scope about a new tensor; called by the constructor. */
export function noteAlive(tensor: TensorBase): void {
  if (scope !== null) scope.made.push(tensor);
}

/**
 * Runs `fn` and releases every tensor made inside, except those it returns (in any nesting) and
 * those that share memory with them. Nests: what an inner scope returns belongs to the outer one.
 */
export function tidy<R>(fn: () => R): R {
  const inner: Scope = { made: [], kept: new Set(), outer: scope };
  scope = inner;
  let result: R;
  try {
    result = fn();
  } catch (error) {
    release(inner);
    throw error;
  } finally {
    scope = inner.outer;
  }
  const returned = treeLeaves(result).filter((leaf): leaf is TensorBase => leaf instanceof Base);
  for (const tensor of returned) inner.kept.add(tensor);
  release(inner);
  if (inner.outer !== null) inner.outer.made.push(...returned);
  return result;
}

function release({ made, kept }: Scope): void {
  const storages = new Set([...kept].map((tensor) => tensor.storageOrNull));
  for (const tensor of made) {
    const storage = tensor.storageOrNull;
    // A tensor that requires grad is part of a graph that may outlive the scope.
    if (storage === null || storages.has(storage) || tensor.requiresGradFlag) continue;
    storage.release();
  }
}

/** Keeps a tensor (a gradient, a cached value) beyond all open scopes. */
export function keep<T extends TensorBase>(tensor: T): T {
  for (let open = scope; open !== null; open = open.outer) open.kept.add(tensor);
  return tensor;
}
