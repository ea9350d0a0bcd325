/**
 * @file Cross entropy: from class indices or class probabilities, with weights and label smoothing.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { defineOp } from '../../op/op-overload.js';
import { sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { maskedFill } from '../pointwise/fill.js';
import { gather } from '../indexing/scatter.js';
import { logicalNot } from '../pointwise/logical.js';
import {
  type NllLossOptions,
  type Reduction,
  checkClassWeight,
  nllLoss,
  reductionNumber,
} from './nll.js';
import { div } from '../pointwise/division.js';
import { add, mul, neg } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { logSoftmax } from '../activation/softmax.js';
import { reshape } from '../view/view.js';

const REDUCTIONS: readonly Reduction[] = ['none', 'mean', 'sum'];

function perClass(weight: Tensor, ndim: number): Tensor {
  return ndim === 1
    ? weight
    : reshape(weight, [1, weight.numel, ...Array<number>(ndim - 2).fill(1)]);
}

function probabilityTarget(
  logs: Tensor,
  dim: number,
  {
    target,
    weight,
    reduction,
    label_smoothing,
  }: { target: Tensor; weight: Tensor | null; reduction: number; label_smoothing: number },
): Tensor {
  const classes = logs.sizes[dim]!;
  checkClassWeight('cross_entropy', weight, classes);
  const smoothing = label_smoothing;
  const wanted = smoothing > 0 ? add(mul(target, 1 - smoothing), smoothing / classes) : target;
  const product = mul(logs, wanted);
  const weighted = weight === null ? product : mul(product, perClass(weight, logs.ndim));
  if (REDUCTIONS[reduction] === 'none') return neg(sum(weighted, dim));
  const total = neg(sum(weighted));
  return REDUCTIONS[reduction] === 'mean' ? div(total, logs.numel / classes) : total;
}

function smoothed(
  logs: Tensor,
  dim: number,
  {
    target,
    weight,
    reduction,
    ignore_index,
    label_smoothing,
  }: {
    target: Tensor;
    weight: Tensor | null;
    reduction: number;
    ignore_index: number;
    label_smoothing: number;
  },
): Tensor {
  const mode = REDUCTIONS[reduction]!;
  const labels = target;
  const loss = nllLoss(logs, labels, {
    weight: weight,
    reduction: mode,
    ignoreIndex: ignore_index,
  });
  const weighted = weight === null ? logs : mul(logs, perClass(weight, logs.ndim));
  const ignored = eq(labels, ignore_index);
  const losses = maskedFill(neg(sum(weighted, dim)), ignored, 0);
  let smooth = losses;
  if (mode !== 'none') smooth = sum(losses);
  if (mode === 'mean')
    smooth = div(
      smooth,
      weight === null ? sum(logicalNot(ignored)) : weightSum(weight, labels, ignored),
    );
  const smoothing = label_smoothing;
  return add(mul(loss, 1 - smoothing), mul(smooth, smoothing / logs.sizes[dim]!));
}

/** Sum of the weights of the targets that count. */
function weightSum(weight: Tensor, labels: Tensor, ignored: Tensor): Tensor {
  const indices = reshape(maskedFill(labels, ignored, 0), [-1]);
  return sum(maskedFill(gather(weight, 0, indices), reshape(ignored, [-1]), 0));
}

/** @throws invalid-argument always */
function refuse(message: string): never {
  throw new TesseraError('invalid-argument', `cross_entropy: ${message}`, {
    hints: ['Leave it out for the default.'],
  });
}

const crossEntropyOp = defineOp(
  'aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.0) -> Tensor',
  {
    decompose: (args) => {
      const self = args.self;
      const target = args.target;
      const dim = self.ndim === 1 ? 0 : 1;
      const smoothing = args.label_smoothing;
      if (!(smoothing >= 0 && smoothing <= 1))
        refuse(`label_smoothing must be between 0.0 and 1.0. Got: ${smoothing}`);
      const logs = logSoftmax(self, dim);
      if (sameNumbers(self.sizes, target.sizes)) {
        if (!isFloatingPoint(target.dtype)) {
          throw new TesseraError(
            'dtype-mismatch',
            `cross_entropy: Expected floating point type for target with class probabilities, got ${target.dtype}`,
            {
              hints: [
                'A target of the shape of the input holds class probabilities; class indices have no class dimension.',
              ],
            },
          );
        }
        if (args.ignore_index >= 0)
          refuse('ignore_index is not supported for floating point target');
        return probabilityTarget(logs, dim, args);
      }
      if (smoothing > 0) return smoothed(logs, dim, args);
      return nllLoss(logs, target, {
        weight: args.weight,
        reduction: REDUCTIONS[args.reduction],
        ignoreIndex: args.ignore_index,
      });
    },
  },
);

/** Parameters of `crossEntropy`. */
export interface CrossEntropyOptions extends NllLossOptions {
  /** Share of the target spread evenly over all classes, 0 to 1. */
  readonly labelSmoothing?: number;
}
const CROSS_ENTROPY: OptionNames<CrossEntropyOptions> = {
  weight: true,
  ignoreIndex: true,
  reduction: true,
  labelSmoothing: true,
};

/** Cross entropy of logits [N, C, …] with class indices [N, …] or class probabilities [N, C, …]. @throws shape-mismatch, dtype-mismatch, index-out-of-range */
export function crossEntropy(
  input: Tensor,
  target: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  checkOptionNames('crossEntropy', options, CROSS_ENTROPY);
  const { weight = null, reduction = 'mean', ignoreIndex = -100, labelSmoothing = 0 } = options;
  return callOp(crossEntropyOp, [
    input,
    target,
    weight,
    reductionNumber(reduction),
    ignoreIndex,
    labelSmoothing,
  ]);
}
