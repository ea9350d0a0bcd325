/**
 * @file `grad`: gradients as values, without touching `.grad`.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '../tensor.js';
import { checkGradient } from './check-gradient.js';
import { differentiate } from './differentiate.js';
import { withGradMode } from './grad-mode.js';
import { zerosOf } from './gradient-ops.js';

/** Options of `grad`. */
export interface GradOptions {
  /** Gradients of the outputs; may be left out (null) for scalars. */
  readonly gradOutputs?: Tensor | readonly (Tensor | null)[] | null;
  /** Whether the gradients can be differentiated again. */
  readonly createGraph?: boolean;
  /** Whether the graph stays usable; defaults to createGraph. */
  readonly retainGraph?: boolean;
  /** Whether an input that the outputs do not depend on gives null instead of an error. */
  readonly allowUnused?: boolean;
  /** Whether such an input gives zeros instead. */
  readonly materializeGrads?: boolean;
  /** Not supported: one call for a batch of gradOutputs. */
  readonly isGradsBatched?: boolean;
}

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/**
 * Gradients of (the sum of) outputs with respect to inputs, one per input.
 *
 * @throws no-grad-graph, grad-non-scalar, backward-twice, inplace-version, shape-mismatch, invalid-argument
 * @see torch.autograd.grad
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions & { allowUnused: true; materializeGrads?: false },
): (Tensor | null)[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options?: GradOptions,
): Tensor[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions = {},
): (Tensor | null)[] {
  const roots = listOf(outputs);
  const wanted = listOf(inputs);
  const seeds = options.gradOutputs == null ? roots.map(() => null) : listOf(options.gradOutputs);
  const { createGraph = false, retainGraph = createGraph, materializeGrads = false } = options;
  const { allowUnused = materializeGrads } = options;
  checkOptions(options);
  for (const seed of seeds) checkGradient(seed, 'grad()');
  if (seeds.length !== roots.length) {
    throw new TesseraError(
      'invalid-argument',
      `grad(): got ${seeds.length} gradOutputs for ${roots.length} outputs`,
      { hints: ['Give one gradient (or null) per output.'] },
    );
  }
  const request = { outputs: roots, gradOutputs: seeds, inputs: wanted, retainGraph, createGraph };
  const grads = differentiate(request);
  if (!allowUnused) checkUsed(grads);
  return materializeGrads ? materialized(grads, wanted) : grads;
}

function materialized(grads: readonly (Tensor | null)[], inputs: readonly Tensor[]): Tensor[] {
  return grads.map((grad, i) => grad ?? withGradMode(false, () => zerosOf(inputs[i]!)));
}

function checkOptions(options: GradOptions): void {
  if (options.isGradsBatched === true) {
    throw new TesseraError(
      'invalid-argument',
      'grad(): isGradsBatched is not supported, since there is no vmap.',
      { hints: ['Call grad() once for each of the gradOutputs, with retainGraph: true.'] },
    );
  }
  if (options.materializeGrads === true && options.allowUnused === false) {
    throw new TesseraError(
      'invalid-argument',
      'Expected allowUnused to be true or not passed when materializeGrads=true, but got: allowUnused=false.',
      { hints: ['Leave allowUnused out.'] },
    );
  }
}

function checkUsed(grads: readonly (Tensor | null)[]): void {
  const unused = grads.indexOf(null);
  if (unused < 0) return;
  throw new TesseraError(
    'no-grad-graph',
    `One of the differentiated Tensors (input ${unused}) appears to not have been used in the graph.`,
    {
      hints: ['Set allowUnused: true if this is the desired behavior.'],
    },
  );
}
