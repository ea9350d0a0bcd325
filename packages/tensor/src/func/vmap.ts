/**
 * @file `vmap`: a function of one example as a function of a batch.
 */
import {
  type OptionNames,
  TesseraError,
  treeFlatten,
  treeUnflatten,
  checkOptionNames,
  checkFunction,
} from '@tessera/shared';
import { activeMode, withPreDispatchMode } from '../dispatch/modes.js';
import { formatSizes, wrapDim } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { batchedAt, makeBatched } from './batched-tensor.js';
import type { Randomness } from './rules/random.js';
import { VmapMode, valuesAt } from './vmap-mode.js';

/** The dimension of the batch, for a value or part by part; null for what is shared by all examples. */
export type BatchDims =
  number | null | readonly BatchDims[] | { readonly [key: string]: BatchDims };

/** Options of `vmap`. */
export interface VmapOptions {
  /** Where the examples of each argument lie: one for all arguments, or a list with one for each (default 0). */
  readonly inDims?: BatchDims;
  /** Where the examples of each result lie (default 0); null for what is shared by all examples. */
  readonly outDims?: BatchDims;
  /**
   * What random operators do: `'error'` (default), `'same'` numbers for all examples, or `'different'` ones.
   */
  readonly randomness?: Randomness;
}
const VMAP: OptionNames<VmapOptions> = { inDims: true, outDims: true, randomness: true };

function invalid(message: string, hint: string): TesseraError {
  return new TesseraError('invalid-argument', `vmap: ${message}`, { hints: [hint] });
}

function isContainer(dims: unknown): dims is object {
  return typeof dims === 'object' && dims !== null;
}

/** One entry of `dims` per leaf of a tree, where an entry above a subtree stands for all of it. @throws invalid-argument */
function dimsOf(tree: unknown, dims: BatchDims, name: string): (number | null)[] {
  if (!isContainer(dims)) return treeFlatten(tree).leaves.map(() => dims);
  const parts = Array.isArray(tree) ? tree : isContainer(tree) && !isTensor(tree) ? tree : null;
  const keys = parts === null ? [] : Object.keys(parts);
  const given = Object.keys(dims);
  if (
    parts === null ||
    Array.isArray(parts) !== Array.isArray(dims) ||
    keys.length !== given.length ||
    keys.some((key) => !(key in dims))
  )
    throw invalid(
      `${name} is not compatible with the structure of what it describes.`,
      `Give one dimension (or null) for everything, or ${name} of the same structure.`,
    );
  return keys.flatMap((key) =>
    dimsOf(
      (parts as Record<string, unknown>)[key],
      (dims as Record<string, BatchDims>)[key]!,
      name,
    ),
  );
}

/** The number of examples. @throws invalid-argument */
function batchSize(leaves: readonly unknown[], dims: readonly (number | null)[]): number {
  let size: number | null = null;
  leaves.forEach((leaf, i) => {
    const dim = dims[i]!;
    if (dim === null) return;
    if (!isTensor(leaf))
      throw invalid(
        `Got inDim=${dim} for an input, but the input is of type ${typeof leaf}.`,
        'Inputs that are no tensors are shared: give null there.',
      );
    if (leaf.ndim === 0)
      throw invalid(
        `Got inDim=${dim} for an input of dimensionality 0.`,
        'Use null to share it by all examples.',
      );
    const own = leaf.sizes[wrapDim(dim, leaf.ndim, 'vmap')]!;
    if (size !== null && own !== size)
      throw invalid(
        `Expected all tensors to have the same size in the mapped dimension, got sizes ${size} and ${own} (of ${formatSizes(leaf.sizes)}) for the mapped dimension.`,
        'Every batched argument has the same number of examples.',
      );
    size = own;
  });
  if (size === null)
    throw invalid(
      'Expected at least one Tensor to vmap over: all inDims are null.',
      'Give the dimension of the examples for at least one tensor.',
    );
  return size;
}

/**
 * A function that applies `fn`, written for one example, to all examples of a batch at once.
 *
 * Inside `fn` the batch is not visible: a `[B, 3]` argument looks like `[3]`. It runs once, and each of its
 * operators works on the whole batch. Calls nest, may be differentiated from outside and from inside
 * (`grad`), and may be compiled.
 *
 * @throws invalid-argument if dims do not fit; vmap-randomness, vmap-inplace, vmap-data-access, vmap-unsupported
 *   for what a function of a batch cannot do
 * @example vmap((x: Tensor, y: Tensor) => x.mul(y).sum())(ones([5, 3]), ones([5, 3])) // [5]
 * @see torch.func.vmap
 */
export function vmap<A extends unknown[], R>(
  fn: (...args: A) => R,
  options: VmapOptions = {},
): (...args: A) => R {
  checkFunction('vmap', fn);
  checkOptionNames('vmap', options, VMAP);
  const { inDims = 0, outDims = 0, randomness = 'error' } = options;
  if (!['error', 'same', 'different'].includes(randomness))
    throw invalid(
      `Only allowed values for randomness are 'error', 'different', or 'same'. Got ${String(randomness)}.`,
      "Leave it out for 'error'.",
    );
  return (...args) => {
    const { leaves, spec } = treeFlatten(args);
    // A shared entry for all arguments concerns tensors only.
    const dims = dimsOf(args, inDims, 'inDims').map((dim, i) =>
      isContainer(inDims) || isTensor(leaves[i]) ? dim : null,
    );
    const mode = new VmapMode(batchSize(leaves, dims), randomness, activeMode(leaves));
    const inputs = leaves.map((leaf, i) => {
      const dim = dims[i]!;
      if (dim === null) return leaf;
      const tensor = leaf as Tensor;
      return makeBatched(tensor, wrapDim(dim, tensor.ndim, 'vmap'), mode);
    });
    const result = withPreDispatchMode(mode, () => fn(...treeUnflatten(inputs, spec)));
    if (result instanceof Promise)
      throw new TesseraError('vmap-unsupported', 'vmap: the function is asynchronous.', {
        hints: ['Await inside is not possible: pass a function that returns tensors.'],
      });
    const outs = treeFlatten(result);
    const places = dimsOf(result, outDims, 'outDims');
    const whole = outs.leaves.map((leaf, i) => {
      const place = places[i]!;
      if (place !== null) return valuesAt(mode, leaf, place);
      if (batchedAt(leaf, mode) === null) return leaf;
      throw invalid(
        'the function can not return a BatchedTensor when outDim is null',
        'Say where the examples of each result go: null is for what all share.',
      );
    });
    return treeUnflatten(whole, outs.spec);
  };
}
