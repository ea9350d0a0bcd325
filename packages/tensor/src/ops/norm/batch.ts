/**
 * @file Batch norm.
 *
 * The primitive is functional: it returns the updated running statistics, and `batch_norm` copies them
 * in. So graphs and functionalization see an ordinary in-place copy instead of a hidden write.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { noGrad } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { Tensor } from '../../tensor.js';
import { clone, copy_ } from '../arrange/copy.js';
import { newZeros } from '../factory/like.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { select } from '../view/slice.js';
import {
  batchNormFunctionalOp,
  batchNormNoStatsOp,
  batchNormNoTrainingOp,
} from './batch-primitive.js';

type Normalized = [output: Tensor, mean: Tensor, invstd: Tensor];

/** Arguments that the operators have in common. */
interface Batch {
  readonly input: Tensor;
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
  readonly running_mean: Tensor | null;
  readonly running_var: Tensor | null;
  readonly training: boolean;
  readonly momentum: number;
  readonly eps: number;
}

/** An empty batch is returned as it is, with a history that gives weight and bias gradients of zeros. */
function emptyBatch({ input, weight, bias }: Batch): Normalized {
  const none = newZeros(input, [0]);
  let output = clone(input);
  // Of a number, not of a vector: halves stay halves beside float32 parameters.
  if (weight != null && weight.numel > 0) output = mul(output, select(weight, 0, 0));
  if (bias != null && bias.numel > 0) output = add(output, select(bias, 0, 0));
  return [output, none, none];
}

/** Normalises, and updates the running statistics in place when training. */
function normalize(batch: Batch): Normalized {
  const { input, weight, bias, running_mean, running_var, training, momentum, eps } = batch;
  if (input.numel === 0) return emptyBatch(batch);
  const hasStats = running_mean != null && running_var != null;
  if (!hasStats && running_mean !== running_var && (running_mean ?? running_var) != null)
    throw new TesseraError(
      'invalid-argument',
      'running_mean and running_var must either both be None or neither be None',
      { hints: ['Give both running statistics, or none.'] },
    );
  if (training !== true && hasStats)
    return callOp(batchNormNoTrainingOp, [
      input,
      weight,
      bias,
      running_mean,
      running_var,
      momentum,
      eps,
    ]);
  if (!hasStats) return callOp(batchNormNoStatsOp, [input, weight, bias, true, momentum, eps]);
  const [out, mean_, invstd, newMean, newVar] = callOp(batchNormFunctionalOp, [
    input,
    weight,
    bias,
    running_mean,
    running_var,
    true,
    momentum,
    eps,
  ]);
  noGrad(() => {
    copy_(running_mean, newMean);
    copy_(running_var, newVar);
  });
  return [out, mean_, invstd];
}

// The last output is what a GPU library wants back; here it is empty.

/** The operator of `batchNorm`, which checks less. */
export const batchNormOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    'aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor',
    {
      decompose: (args) => normalize(args)[0],
    },
  ),
  defineOp(
    'aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)',
    { decompose: normalize },
  ),
  defineOp(
    'aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)',
    { decompose: normalize },
  ),
  defineOp(
    'aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)',
    {
      decompose: (args) => [
        ...normalize({ ...args, training: true }),
        newZeros(args.input, [0], { dtype: 'uint8' }),
      ],
    },
  ),
);

/** Parameters of `batchNorm`. */
export interface BatchNormOptions {
  readonly weight?: Tensor | null;
  readonly bias?: Tensor | null;
  /** Updated in place when training. */
  readonly runningMean?: Tensor | null;
  readonly runningVar?: Tensor | null;
  /** Whether to normalise with the batch's own statistics. */
  readonly training?: boolean;
  /** Share of the batch in the new running statistics. */
  readonly momentum?: number;
  readonly eps?: number;
}
const BATCH_NORM: OptionNames<BatchNormOptions> = {
  runningMean: true,
  runningVar: true,
  weight: true,
  bias: true,
  training: true,
  momentum: true,
  eps: true,
};

/** Normalises each channel of [N, C, …]. @throws shape-mismatch, invalid-argument @see https://arxiv.org/abs/1502.03167 */
export function batchNorm(input: Tensor, options: BatchNormOptions = {}): Tensor {
  checkOptionNames('batchNorm', options, BATCH_NORM);
  const {
    weight = null,
    bias = null,
    runningMean = null,
    runningVar = null,
    training = false,
    momentum = 0.1,
    eps = 1e-5,
  } = options;
  if (training ? eps <= 0 : eps < 0)
    throw new TesseraError(
      'invalid-argument',
      `batch_norm eps must be ${training ? 'positive during training' : 'non-negative'}, but got ${eps}`,
      { hints: ['eps is added to the variance.'] },
    );
  return callOp(batchNormOp, [
    input,
    weight,
    bias,
    runningMean,
    runningVar,
    training,
    momentum,
    eps,
    true,
  ]);
}
