/**
 * @file `grad`: gradients as values, without touching `.grad`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '../tensor.js';
import { checkGradient } from './check-gradient.js';
import { differentiate } from './differentiate.js';
import { withGradMode } from './grad-mode.js';
import { batchOf, exampleOf, zerosOf } from './gradient-ops.js';
import { checkTensors } from '../check-tensors.js';

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
  /**
   * Whether the gradOutputs have a batch in front, [B, …]: the results are those of B calls, stacked, [B, …]. The graph
   * is run once for each of them.
   */
  readonly isGradsBatched?: boolean;
}
const GRAD: OptionNames<GradOptions> = {
  gradOutputs: true,
  createGraph: true,
  retainGraph: true,
  allowUnused: true,
  materializeGrads: true,
  isGradsBatched: true,
};

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? value : [value];
}

/** A gradient for each of some inputs. */
type Each<I extends readonly Tensor[], G> = { -readonly [K in keyof I]: G };

/** Inputs that the outputs do not depend on have null for their gradient. */
type NullUnused = GradOptions & { allowUnused: true; materializeGrads?: false };

/**
 * Gradients of (the sum of) outputs with respect to inputs, one per input.
 *
 * @throws no-grad-graph, grad-non-scalar, backward-twice, inplace-version, shape-mismatch, invalid-argument
 * @see torch.autograd.grad
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor,
  options: NullUnused,
): [gradient: Tensor | null];
export function grad<const I extends readonly Tensor[]>(
  outputs: Tensor | readonly Tensor[],
  inputs: I,
  options: NullUnused,
): Each<I, Tensor | null>;
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: NullUnused,
): (Tensor | null)[];
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor,
  options?: GradOptions,
): [gradient: Tensor];
export function grad<const I extends readonly Tensor[]>(
  outputs: Tensor | readonly Tensor[],
  inputs: I,
  options?: GradOptions,
): Each<I, Tensor>;
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
  checkOptionNames('grad', options, GRAD);
  const roots = listOf(outputs);
  const wanted = listOf(inputs);
  const seeds = options.gradOutputs == null ? roots.map(() => null) : listOf(options.gradOutputs);
  const { createGraph = false, retainGraph = createGraph, materializeGrads = false } = options;
  const { allowUnused = materializeGrads } = options;
  checkOptions(options);
  for (const tensor of [...roots, ...wanted]) checkTensors('grad', { tensor });
  for (const seed of seeds) checkGradient(seed, 'grad()');
  if (options.isGradsBatched === true) return batchedGrads(roots, wanted, options);
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

/** `grad` of every element of the batch of gradOutputs, stacked. @throws invalid-argument, shape-mismatch */
function batchedGrads(
  outputs: readonly Tensor[],
  inputs: readonly Tensor[],
  options: GradOptions,
): (Tensor | null)[] {
  const seeds = options.gradOutputs == null ? [] : listOf(options.gradOutputs);
  const count = seeds.find((seed) => seed !== null)?.sizes[0];
  if (count === undefined)
    throw new TesseraError(
      'invalid-argument',
      'grad(): isGradsBatched is about gradOutputs, of which there are none with a dimension of the batch.',
      { hints: ['Pass gradOutputs of shape [B, …], where […] is the shape of the output.'] },
    );
  const uneven = seeds.find((seed) => seed !== null && seed.sizes[0] !== count);
  if (uneven !== undefined)
    throw new TesseraError(
      'shape-mismatch',
      `grad(): gradOutputs of ${count} and of ${uneven?.sizes[0]} elements are no batch.`,
      { hints: ['The first dimension is that of the batch, in each of them.'] },
    );
  const { createGraph = false, retainGraph = createGraph } = options;
  const each = Array.from({ length: count }, (_, i) =>
    grad(outputs, inputs, {
      ...options,
      isGradsBatched: false,
      gradOutputs: seeds.map((seed) => (seed === null ? null : exampleOf(seed, i))),
      retainGraph: retainGraph || i < count - 1,
    }),
  );
  return inputs.map((input, at) => {
    if (count === 0)
      return zerosOf({ sizes: [0, ...input.sizes], dtype: input.dtype, device: input.device });
    const rows = each.map((grads) => grads[at] ?? null);
    return rows.every((row) => row !== null) ? batchOf(rows) : null;
  });
}

function checkOptions(options: GradOptions): void {
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
