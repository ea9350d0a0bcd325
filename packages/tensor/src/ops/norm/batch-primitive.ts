/**
 * @file The primitives of batch norm, and their backward.
 *
 * They are functional: the one for training returns the updated running statistics (see batch.ts).
 */
import { TesseraError } from '@tessera/shared';
import { composedGradients } from '../../autograd/composed-gradient.js';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import {
  batchNormBackward,
  channelStatistics,
  normalizeChannels,
} from '../../kernels/batch-norm-kernel.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkFloating, statisticsType } from '../../kernels/restrict-dtypes.js';
import { imageMeta } from '../../kernels/suggest-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta, Vjp } from '../../op/op-record.js';
import { checkGradient, formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { rsqrt } from '../pointwise/exponential.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { mean, sum } from '../reduction/reduction.js';
import { reshape } from '../view/view.js';

type Maybe = Tensor | null;

interface BatchArgs {
  readonly input: Tensor;
  readonly weight: Maybe;
  readonly bias: Maybe;
  readonly running_mean?: Maybe;
  readonly running_var?: Maybe;
}

/** @throws shape-mismatch, dtype-unsupported */
function outputMeta({ input, weight, bias, running_mean, running_var }: BatchArgs): TensorMeta {
  checkFloating('batch_norm', input);
  if (input.ndim < 2)
    throw new TesseraError(
      'shape-mismatch',
      `batch_norm: expected at least 2D input (got ${input.ndim}D input)`,
      { hints: ['The input is [N, C, …].'] },
    );
  const channels = input.sizes[1];
  for (const [name, value] of Object.entries({ running_mean, running_var, weight, bias })) {
    const tensor = value;
    if (tensor == null || (tensor.ndim === 1 && tensor.sizes[0] === channels)) continue;
    throw new TesseraError(
      'shape-mismatch',
      `batch_norm: ${name} should contain ${channels} elements not ${tensor.ndim === 1 ? tensor.sizes[0] : formatSizes(tensor.sizes)}`,
      { hints: [`The input ${formatSizes(input.sizes)} has ${channels} channels.`] },
    );
  }
  return imageMeta(input, input.sizes);
}

function vector(input: Tensor, size: number, dtype = input.dtype): TensorMeta {
  return { sizes: [size], strides: [1], dtype, device: input.device };
}

/** @throws dtype-mismatch */
function statisticMeta(args: BatchArgs, size: number): TensorMeta {
  const { input, weight, bias, running_mean, running_var } = args;
  return vector(input, size, statisticsType(input, weight, bias, running_mean, running_var));
}

/** Normalises with the saved statistics, which are rounded to their type as PyTorch's are. */
function normalizeSaved(
  { input, weight, bias }: { input: Tensor; weight: Tensor | null; bias: Tensor | null },
  out: Tensor,
  x: Float64Array,
  saveMean: Tensor,
  saveInvstd: Tensor,
): void {
  const [means, scales] = [readNumbers(saveMean), readNumbers(saveInvstd)];
  normalizeChannels(out, input, x, means, scales, weight, bias);
}

/** Returns updated running statistics as well. */
export const batchNormFunctionalOp: OpOverload<[Tensor, Tensor, Tensor, Tensor, Tensor]> = defineOp(
  'aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)',
  {
    tags: ['reduction'],
    meta: (args) => {
      const input = args.input;
      const out = outputMeta(args);
      const stat = statisticMeta(args, args.training === true ? input.sizes[1]! : 0);
      return [
        out,
        stat,
        stat,
        vector(input, input.sizes[1]!, args.running_mean.dtype),
        vector(input, input.sizes[1]!, args.running_var.dtype),
      ];
    },
    kernel: (args, [out, saveMean, saveInvstd, meanOut, varOut]) => {
      const input = args.input;
      const x = readNumbers(input);
      const oldMean = readNumbers(args.running_mean);
      const oldVar = readNumbers(args.running_var);
      const eps = args.eps;
      if (args.training !== true) {
        normalizeChannels(
          out!,
          input,
          x,
          oldMean,
          oldVar.map((v) => 1 / Math.sqrt(v + eps)),
          args.weight,
          args.bias,
        );
        writeNumbers(meanOut!, oldMean);
        writeNumbers(varOut!, oldVar);
        return;
      }
      const { means, variances, count } = channelStatistics(input, x);
      const scales = variances.map((v) => 1 / Math.sqrt(v + eps));
      writeNumbers(saveMean!, means);
      writeNumbers(saveInvstd!, scales);
      normalizeSaved(args, out!, x, saveMean!, saveInvstd!);
      const momentum = args.momentum;
      writeNumbers(
        meanOut!,
        oldMean.map((v, c) => (1 - momentum) * v + momentum * means[c]!),
      );
      // The running variance is the unbiased one.
      writeNumbers(
        varOut!,
        oldVar.map((v, c) => (1 - momentum) * v + (momentum * variances[c]! * count) / (count - 1)),
      );
    },
    // Not the running statistics themselves: they are about to be overwritten. Without training the
    // returned ones equal them.
    saved: ['input', 'weight', 'out.1', 'out.2', 'out.3', 'out.4'],
    constantOutputs: [1, 2, 3, 4],
    vjp: (args, context) =>
      gradients(args, context, args.training, context.outs[3]!, context.outs[4]!),
  },
);

/** With the statistics of the batch alone. */
export const batchNormNoStatsOp: OpOverload<[Tensor, Tensor, Tensor]> = defineOp(
  'aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: (args) => {
      const out = outputMeta(args);
      const stat = statisticMeta(args, args.input.sizes[1]!);
      return [out, stat, stat];
    },
    kernel: (args, [out, saveMean, saveInvstd]) => {
      const input = args.input;
      const x = readNumbers(input);
      const { means, variances } = channelStatistics(input, x);
      const scales = variances.map((v) => 1 / Math.sqrt(v + args.eps));
      writeNumbers(saveMean!, means);
      writeNumbers(saveInvstd!, scales);
      normalizeSaved(args, out!, x, saveMean!, saveInvstd!);
    },
    saved: ['input', 'weight', 'out.1', 'out.2'],
    constantOutputs: [1, 2],
    vjp: (args, context) => gradients(args, context, true, null, null),
  },
);

/** With the running statistics. */
export const batchNormNoTrainingOp: OpOverload<[Tensor, Tensor, Tensor]> = defineOp(
  'aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['pointwise'],
    meta: (args) => {
      const out = outputMeta(args);
      const stat = statisticMeta(args, 0);
      return [out, stat, stat];
    },
    kernel: (args, [out]) => {
      const input = args.input;
      const scales = readNumbers(args.running_var).map((v) => 1 / Math.sqrt(v + args.eps));
      normalizeChannels(
        out!,
        input,
        readNumbers(input),
        readNumbers(args.running_mean),
        scales,
        args.weight,
        args.bias,
      );
    },
    saved: ['input', 'weight', 'running_mean', 'running_var'],
    constantOutputs: [1, 2],
    vjp: (args, context) => gradients(args, context, false, args.running_mean, args.running_var),
  },
);

const backwardOp: OpOverload<[Tensor, Tensor, Tensor]> = defineOp(
  'aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)',
  {
    tags: ['reduction'],
    meta: (args) => {
      const input = args.input;
      const mask = args.output_mask;
      const weight = args.weight;
      const channels = input.sizes[1]!;
      checkGradient('batch_norm', args.grad_out, input.sizes);
      return [
        mask[0] ? outputMeta({ ...args, bias: null }) : vector(input, 0),
        vector(input, mask[1] ? channels : 0, weight?.dtype),
        vector(input, mask[2] ? channels : 0, weight?.dtype),
      ];
    },
    kernel: (args, [dInput, dWeight, dBias]) => {
      const train = args.train;
      const means = readNumbers((train ? args.save_mean : args.running_mean)!);
      const scales = train
        ? readNumbers(args.save_invstd!)
        : readNumbers(args.running_var!).map((v) => 1 / Math.sqrt(v + args.eps));
      const grads = batchNormBackward({
        gradOut: args.grad_out,
        input: args.input,
        weight: args.weight,
        means,
        scales,
        train,
      });
      const mask = args.output_mask;
      if (mask[0]) writeNumbers(dInput!, grads.input);
      if (mask[1]) writeNumbers(dWeight!, grads.weight);
      if (mask[2]) writeNumbers(dBias!, grads.bias);
    },
    saved: ['grad_out', 'input', 'weight', 'running_mean', 'running_var'],
    // With respect to what the statistics were computed from, as PyTorch's batchnorm_double_backward.
    vjp: (args, { grads }) =>
      composedGradients(
        {
          grad_out: args.grad_out,
          input: args.input,
          weight: args.weight,
        },
        grads,
        (at) => {
          const running = [args.running_mean!, args.running_var!] as const;
          const first = composedGradient(
            at.grad_out!,
            at.input!,
            at.weight,
            args.eps,
            args.train === true ? null : running,
          );
          return [first.input(), first.weight(), first.bias()];
        },
      ),
  },
);

function gradients(
  { input, weight, eps }: { input: Tensor; weight: Tensor | null; eps: number },
  { grad, outs, needs }: Parameters<Vjp>[1],
  train: boolean,
  runningMean: Maybe,
  runningVar: Maybe,
): ReturnType<Vjp> {
  // A gradient that must itself be differentiable is written in primitive ops.
  if (isGradEnabled())
    return composedGradient(grad, input, weight, eps, train ? null : [runningMean!, runningVar!]);
  const mask = [needs('input'), needs('weight'), needs('bias')];
  const [saveMean, saveInvstd] = train ? [outs[1], outs[2]] : [null, null];
  const [dInput, dWeight, dBias] = callOp(backwardOp, [
    grad,
    input,
    weight,
    runningMean,
    runningVar,
    saveMean,
    saveInvstd,
    train,
    eps,
    mask,
  ]);
  return {
    input: mask[0] ? dInput! : null,
    weight: mask[1] ? dWeight! : null,
    bias: mask[2] ? dBias! : null,
  };
}

function composedGradient(
  grad: Tensor,
  x: Tensor,
  weight: Maybe,
  eps: number,
  running: readonly [Tensor, Tensor] | null,
): Record<'input' | 'weight' | 'bias', () => Tensor> {
  const dims = x.sizes.map((_, i) => i).filter((i) => i !== 1);
  const over = (value: Tensor): Tensor => mean(value, dims, { keepdim: true });
  const shaped = (value: Tensor): Tensor =>
    reshape(value, [1, value.numel, ...x.sizes.slice(2).map(() => 1)]);
  const centred = sub(x, running === null ? over(x) : shaped(running[0]));
  const scale = rsqrt(
    add(running === null ? over(mul(centred, centred)) : shaped(running[1]), eps),
  );
  const normal = mul(centred, scale);
  const weighted = weight === null ? grad : mul(grad, shaped(weight));
  return {
    input: () =>
      mul(
        scale,
        running === null
          ? sub(sub(weighted, over(weighted)), mul(normal, over(mul(weighted, normal))))
          : weighted,
      ),
    weight: () => sum(mul(grad, normal), dims),
    bias: () => sum(grad, dims),
  };
}
