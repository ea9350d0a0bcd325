/**
 * @file Cross entropy of logits that a linear map gives.
 *
 * PyTorch's `options`, which compute it in chunks of the batch to save memory, are not there: logits are made whole.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, linear, reshape } from '@tessera/tensor';
import {
  type CrossEntropyOptions,
  crossEntropy,
  formatSizes,
  checkTensors,
} from '@tessera/tensor/internal';

/** Options of `linearCrossEntropy`. */
export interface LinearCrossEntropyOptions extends CrossEntropyOptions {
  /** [C, d₁, …], added to the logits. */
  readonly linearBias?: Tensor | null;
}
const OPTIONS: OptionNames<LinearCrossEntropyOptions> = {
  linearBias: true,
  labelSmoothing: true,
  weight: true,
  reduction: true,
  ignoreIndex: true,
};

function mismatch(message: string, hint: string): TesseraError {
  return new TesseraError('shape-mismatch', message, { hints: [hint] });
}

/**
 * Cross entropy of `linear(input, linearWeight)`, input [N, in] and linearWeight [C, d₁, …, in], with class indices
 * [N, d₁, …] or class probabilities [N, C, d₁, …].
 *
 * @throws shape-mismatch, invalid-argument, index-out-of-range
 * @see torch.nn.functional.linear_cross_entropy
 */
export function linearCrossEntropy(
  input: Tensor,
  linearWeight: Tensor,
  target: Tensor,
  options: LinearCrossEntropyOptions = {},
): Tensor {
  checkOptionNames('linearCrossEntropy', options, OPTIONS);
  checkTensors('linearCrossEntropy', { input, linearWeight, target });
  const { linearBias = null, ...others } = options;
  const batch = input.sizes.slice(0, -1);
  const [features, width] = [input.sizes.at(-1), linearWeight.sizes.at(-1)];
  if (features === undefined || features !== width)
    throw mismatch(
      `expected equal input and linear_weight last dimensions (in_features), got ${features} and ${width}, respectively`,
      'The weight is [classes, …, features of the input].',
    );
  const [classes, ...out] = linearWeight.sizes.slice(0, -1);
  if (linearBias !== null && formatSizes(linearBias.sizes) !== formatSizes([classes!, ...out]))
    throw mismatch(
      `expected linear_bias shape ${formatSizes([classes!, ...out])}, got ${formatSizes(linearBias.sizes)}`,
      'A bias has the shape of the weight without its last dimension.',
    );
  if (out.length > 0 && batch.length === 0)
    throw mismatch(
      `K-dimensional loss defined by linear_weight shape ${formatSizes(linearWeight.sizes)} requires batched input, (N, ${features}), got unbatched input with shape ${formatSizes(input.sizes)}`,
      'Put a dimension in front: input.unsqueeze(0).',
    );
  const shape = [...batch, classes!, ...out];
  if (options.ignoreIndex !== undefined && formatSizes(target.sizes) === formatSizes(shape))
    throw new TesseraError(
      'invalid-argument',
      'ignore_index cannot be specified when target contains probabilities',
      { hints: ['Leave ignoreIndex out.'] },
    );
  const flat = (x: Tensor): Tensor =>
    out.length === 0 ? x : reshape(x, [-1, ...x.sizes.slice(1 + out.length)]);
  const logits = linear(input, flat(linearWeight), linearBias === null ? null : flat(linearBias));
  return crossEntropy(reshape(logits, shape), target, others);
}
