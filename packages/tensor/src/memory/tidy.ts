/**
 * @file `tidy`: a scope that releases the memory that was allocated in it.
 *
 * What a kept tensor shares its memory with lives on, and so does what its backward graph has saved; views of
 * tensors from outside are no concern of the scope. Gradients of leaves, optimizer state and parameters are kept
 * by those who hold them (`keep`). A tensor with history that is not kept may be part of a graph that the
 * scope does not see: it is released once a backward pass has used its history up, else left to the collector.
 */
import { TesseraError, treeLeaves, checkFunction } from '@tessera/shared';
import type { GradNode } from '../autograd/grad-node.js';
import type { TensorBase } from '../tensor-base.js';
import { TensorBase as Base } from '../tensor-base.js';
import { madeTensors } from './made-tensors.js';
import { type Storage, allocationCount } from './storage.js';

/** An open scope. */
interface Scope {
  /** Number of allocations before it. */
  readonly start: number;
  readonly made: TensorBase[];
  /** Tensors made inside that outlive it. */
  readonly kept: Set<TensorBase>;
  readonly outer: Scope | null;
}

/** The innermost open scope. */
let scope: Scope | null = null;

function open(inner: Scope | null): void {
  scope = inner;
  madeTensors.list = inner?.made ?? null;
}

/**
 * Runs `fn` and releases every tensor made inside, except those it returns (in any nesting) and
 * those that share memory with them. Nests: what an inner scope returns belongs to the outer one.
 *
 * @throws invalid-argument unless `fn` is a function, and no asynchronous one
 */
export function tidy<R>(fn: () => R): R {
  checkFunction('tidy', fn);
  if (Object.prototype.toString.call(fn) === '[object AsyncFunction]')
    throw new TesseraError(
      'invalid-argument',
      'tidy: the function is asynchronous, and what it makes after its first await would be outside the scope, what it made before released.',
      { hints: ['Give tidy the synchronous part, and await what it returns.'] },
    );
  const inner: Scope = { start: allocationCount(), made: [], kept: new Set(), outer: scope };
  open(inner);
  let result: R;
  try {
    result = fn();
  } catch (error) {
    release(inner);
    throw error;
  } finally {
    open(inner.outer);
  }
  const returned = treeLeaves(result).filter((leaf): leaf is TensorBase => leaf instanceof Base);
  for (const tensor of returned) inner.kept.add(tensor);
  release(inner);
  if (inner.outer !== null) inner.outer.made.push(...returned);
  return result;
}

function release({ start, made, kept }: Scope): void {
  const needed = savedFor(kept);
  for (const { storageOrNull } of kept) if (storageOrNull !== null) needed.add(storageOrNull);
  for (const tensor of made) {
    const storage = tensor.storageOrNull;
    if (storage === null || storage.serial <= start || needed.has(storage)) continue;
    if (tensor.requiresGradFlag && tensor.autograd?.gradFn?.released !== true) continue;
    storage.release();
  }
}

/** Memory that the backward graphs of tensors have saved. */
function savedFor(tensors: ReadonlySet<TensorBase>): Set<Storage> {
  const saved = new Set<Storage>();
  const seen = new Set<GradNode>();
  const stack: GradNode[] = [];
  const visit = (node: GradNode | null | undefined): void => {
    if (node == null || seen.has(node)) return;
    seen.add(node);
    stack.push(node);
  };
  for (const { autograd } of tensors) visit(autograd?.gradFn);
  while (stack.length > 0) {
    const node = stack.pop()!;
    for (const storage of node.keptStorages()) saved.add(storage);
    for (const edge of node.nextEdges) visit(edge?.node);
  }
  return saved;
}

/** Keeps a tensor (a gradient, a cached value) beyond all open scopes. */
export function keep<T extends TensorBase>(tensor: T): T {
  for (let at = scope; at !== null; at = at.outer) at.kept.add(tensor);
  return tensor;
}
