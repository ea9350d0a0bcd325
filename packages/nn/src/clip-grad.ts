/**
 * @file Clipping gradients between `backward()` and an optimizer's `step()`.
 *
 * Nothing is read back: the factor stays a tensor, so clipping inside a compiled training step is part
 * of its graph. Modelled on `torch.nn.utils.clip_grad_norm_`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  clamp,
  isTensor,
  noGrad,
  norm,
  reciprocal,
  stack,
  zeros,
} from '@tessera/tensor';
import { clamp_, gradientOf, checkTensors } from '@tessera/tensor/internal';

/** Options of `clipGradNorm_`. */
export interface ClipGradNormOptions {
  /** Order of the norm (default 2); Infinity for the largest magnitude. */
  readonly normType?: number;
  /** Whether a NaN or infinite norm is an error (default false); checking reads a value back. */
  readonly errorIfNonfinite?: boolean;
}

const CLIP_GRAD_NORM: OptionNames<ClipGradNormOptions> = {
  normType: true,
  errorIfNonfinite: true,
};

function listOf(parameters: Iterable<Tensor> | Tensor): readonly Tensor[] {
  if (!isTensor(parameters) && typeof parameters?.[Symbol.iterator] !== 'function')
    throw new TesseraError(
      'invalid-argument',
      `gradients are clipped of parameters, not of a ${parameters?.constructor.name}`,
      { hints: ['Pass model.parameters().'] },
    );
  const list = isTensor(parameters) ? [parameters] : [...parameters];
  // Every step comes here: nothing is made for those that are fine.
  for (const parameter of list) if (!isTensor(parameter)) checkTensors('clip', { parameter });
  return list;
}

function gradientsOf(parameters: Iterable<Tensor> | Tensor): Tensor[] {
  return listOf(parameters)
    .map(gradientOf)
    .filter((grad): grad is Tensor => grad !== null);
}

/**
 * The norm of several tensors, as if they were one: 0 of none.
 *
 * @throws nan-gradient if it is not finite and `errorIfNonfinite` is set
 * @see torch.nn.utils.get_total_norm
 */
export function getTotalNorm(
  tensors: Iterable<Tensor> | Tensor,
  options: ClipGradNormOptions = {},
): Tensor {
  checkOptionNames('getTotalNorm', options, CLIP_GRAD_NORM);
  return totalNorm(listOf(tensors), options);
}

function totalNorm(
  tensors: readonly Tensor[],
  { normType = 2, errorIfNonfinite = false }: ClipGradNormOptions,
): Tensor {
  if (tensors.length === 0) return zeros([]);
  const total = norm(stack(tensors.map((each) => norm(each, normType))), normType);
  if (!errorIfNonfinite || Number.isFinite(total.item())) return total;
  throw new TesseraError(
    'nan-gradient',
    `The total norm of order ${normType} for gradients from \`parameters\` is non-finite, so it cannot be clipped.`,
    {
      hints: [
        'Look for the operation that overflows with anomaly mode, or clip without errorIfNonfinite.',
      ],
    },
  );
}

function scale(grads: readonly Tensor[], maxNorm: number, total: Tensor): void {
  const factor = clamp(reciprocal(total.add(1e-6)).mul(maxNorm), null, 1);
  for (const grad of grads) grad.mul_(factor);
}

/**
 * Scales all gradients so that their norm, taken over all together, is at most `maxNorm`. Returns the
 * norm before that.
 *
 * @throws invalid-argument, nan-gradient if the norm is not finite and `errorIfNonfinite` is set
 */
export function clipGradNorm_(
  parameters: Iterable<Tensor> | Tensor,
  maxNorm: number,
  options: ClipGradNormOptions = {},
): Tensor {
  checkOptionNames('clipGradNorm_', options, CLIP_GRAD_NORM);
  const grads = gradientsOf(parameters);
  return noGrad(() => {
    const total = totalNorm(grads, options);
    scale(grads, maxNorm, total);
    return total;
  });
}

/**
 * Scales all gradients by `maxNorm / totalNorm` where that is below 1: for a norm over more than these parameters, as of all
 * parts of a model that lies on several devices.
 *
 * @throws invalid-argument
 * @see torch.nn.utils.clip_grads_with_norm_
 */
export function clipGradsWithNorm_(
  parameters: Iterable<Tensor> | Tensor,
  maxNorm: number,
  norm: Tensor,
): void {
  checkTensors('clipGradsWithNorm_', { norm });
  noGrad(() => scale(gradientsOf(parameters), maxNorm, norm));
}

/** Clamps every element of the gradients to ±clipValue. */
export function clipGradValue_(parameters: Iterable<Tensor> | Tensor, clipValue: number): void {
  noGrad(() => {
    for (const grad of gradientsOf(parameters)) clamp_(grad, -clipValue, clipValue);
  });
}
