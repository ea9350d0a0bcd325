/**
 * @file Instance norm: batch norm over a batch of one, with a channel for every sample and channel.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { noGrad } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { contiguous, copy_, toDtype } from '../arrange/copy.js';
import { type BatchNormOptions, batchNormOp } from './batch.js';
import { mean } from '../reduction/reduction.js';
import { expand, reshape, view } from '../view/view.js';

type Maybe = Tensor | null;

const instanceNormOp = defineOp(
  'aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor',
  {
    decompose: (args) => {
      const input = args.input;
      const [runningMean, runningVar] = [args.running_mean, args.running_var];
      if (args.use_input_stats !== true && (runningMean === null || runningVar === null))
        throw new TesseraError(
          'invalid-argument',
          'instance_norm: Expected running_mean and running_var to be defined when use_input_stats is false',
          { hints: ['Pass both, or normalise with the statistics of the input.'] },
        );
      if (input.ndim < 2)
        throw new TesseraError(
          'shape-mismatch',
          `instance_norm: expected at least 2D input, got ${formatSizes(input.sizes)}`,
          { hints: ['The input is [N, C, …].'] },
        );
      const [batch, channels] = input.sizes;
      const repeated = (x: Maybe): Maybe =>
        x === null ? null : reshape(expand(x, [batch, x.numel]), [batch * x.numel]);
      // Unlike those of batch norm, running statistics may have any type.
      const converted = (x: Maybe): Maybe => repeated(x === null ? null : toDtype(x, input.dtype));
      const [means, variances] = [converted(runningMean), converted(runningVar)];
      const out = callOp(batchNormOp, [
        view(contiguous(input), [1, batch * channels, ...input.sizes.slice(2)]),
        repeated(args.weight),
        repeated(args.bias),
        means,
        variances,
        args.use_input_stats,
        args.momentum,
        args.eps,
        true,
      ]);
      if (args.use_input_stats)
        noGrad(() => {
          const averaged = (x: Tensor): Tensor => mean(view(x, [batch, channels]), 0);
          if (runningMean !== null) copy_(runningMean, averaged(means!));
          if (runningVar !== null) copy_(runningVar, averaged(variances!));
        });
      return view(out, input.sizes);
    },
  },
);

const INSTANCE_NORM: OptionNames<
  Omit<BatchNormOptions, 'training'> & {
    /** Whether to normalise with the statistics of the input (default true). */
    readonly useInputStats?: boolean;
  }
> = {
  bias: true,
  weight: true,
  runningMean: true,
  runningVar: true,
  momentum: true,
  eps: true,
  useInputStats: true,
};

/** Normalises each channel of each sample of [N, C, …]. @throws shape-mismatch, invalid-argument @see https://arxiv.org/abs/1607.08022 */
export function instanceNorm(
  input: Tensor,
  options: Omit<BatchNormOptions, 'training'> & {
    /** Whether to normalise with the statistics of the input (default true). */
    readonly useInputStats?: boolean;
  } = {},
): Tensor {
  checkOptionNames('instanceNorm', options, INSTANCE_NORM);
  const {
    weight = null,
    bias = null,
    runningMean = null,
    runningVar = null,
    useInputStats = true,
    momentum = 0.1,
    eps = 1e-5,
  } = options;
  return callOp(instanceNormOp, [
    input,
    weight,
    bias,
    runningMean,
    runningVar,
    useInputStats,
    momentum,
    eps,
    true,
  ]);
}
