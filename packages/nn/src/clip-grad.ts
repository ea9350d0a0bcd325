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
import { clamp_, gradientOf } from '@tessera/tensor/internal';

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

function gradientsOf(parameters: Iterable<Tensor> | Tensor): Tensor[] {
  if (!isTensor(parameters) && typeof parameters[Symbol.iterator] !== 'function')
    throw new TesseraError(
      'invalid-argument',
      `gradients are clipped of parameters, not of a ${parameters.constructor.name}`,
      { hints: ['Pass model.parameters().'] },
    );
  const list = isTensor(parameters) ? [parameters] : [...parameters];
  return list.map(gradientOf).filter((grad): grad is Tensor => grad !== null);
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
  const { normType = 2, errorIfNonfinite = false } = options;
  const grads = gradientsOf(parameters);
  if (grads.length === 0) return zeros([]);
  return noGrad(() => {
    const total = norm(stack(grads.map((grad) => norm(grad, normType))), normType);
    if (errorIfNonfinite && !Number.isFinite(total.item())) {
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
    const factor = clamp(reciprocal(total.add(1e-6)).mul(maxNorm), null, 1);
    for (const grad of grads) grad.mul_(factor);
    return total;
  });
}

/** Clamps every element of the gradients to ±clipValue. */
export function clipGradValue_(parameters: Iterable<Tensor> | Tensor, clipValue: number): void {
  noGrad(() => {
    for (const grad of gradientsOf(parameters)) clamp_(grad, -clipValue, clipValue);
  });
}
