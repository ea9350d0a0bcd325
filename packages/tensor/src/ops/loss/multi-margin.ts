/**
 * @file Margin losses over classes, with one label per sample or several.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { fixedScalar } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { relu } from '../activation/activation.js';
import { eq, gt, lt } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { zeros } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { maskedFill } from '../pointwise/fill.js';
import { logicalAnd, logicalNot, logicalOr } from '../pointwise/logical.js';
import { checkClassType } from './nll.js';
import { type LossOptions, reduced, reductionOf, LOSS } from './reduce.js';
import { add, mul, neg } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { sum } from '../reduction/reduction.js';
import { cumsum } from '../scan/scan.js';
import { gather, scatterAdd } from '../indexing/scatter.js';
import { expand, reshape } from '../view/view.js';
import { unsqueeze } from '../view/dims.js';

/** [N, C] of scores of any rank up to 2; a 0-d tensor is one class. */
function rows(x: Tensor): Tensor {
  return x.ndim === 2 ? x : reshape(x, [1, x.numel]);
}

/** Number of samples of [N, C] or [C]. @throws shape-mismatch */
function checkScores(op: string, { sizes, ndim, numel }: Tensor): number {
  const frames = ndim === 2 ? sizes[0]! : 1;
  if (ndim > 2 || (numel === 0 && frames !== 0))
    throw new TesseraError(
      'shape-mismatch',
      `${op}: Expected non-empty vector or matrix with optional 0-dim batch size, but got: ${formatSizes(sizes)}`,
      { hints: ['The input is [N, C] or [C].'] },
    );
  return frames;
}

/** Returns the power of the margins. @throws invalid-argument, shape-mismatch, dtype-mismatch */
function checkSingle({
  self,
  target,
  p: given,
  weight,
}: {
  self: Tensor;
  target: Tensor;
  p: ScalarLike;
  weight: Tensor | null;
}): number {
  const p = fixedScalar(given);
  if (p !== 1 && p !== 2)
    throw new TesseraError(
      'invalid-argument',
      `multi_margin_loss: only p == 1 and p == 2 supported, got ${p}`,
      { hints: ['p is the power of the margins.'] },
    );
  const [x, labels] = [self, target];
  const frames = checkScores('multi_margin_loss', x);
  checkClassType('multi_margin_loss', labels);
  if (labels.ndim > 1 || labels.numel !== frames)
    throw new TesseraError(
      'shape-mismatch',
      `multi_margin_loss: inconsistent target size, expected ${frames} but got ${formatSizes(labels.sizes)}`,
      { hints: ['The target has one class index per sample.'] },
    );
  const classes = x.ndim === 0 ? 1 : x.sizes.at(-1)!;
  if (weight !== null && (weight.ndim > 1 || weight.numel !== classes))
    throw new TesseraError(
      'shape-mismatch',
      `multi_margin_loss: inconsistent weight size, expected ${classes} but got ${formatSizes(weight.sizes)}`,
      { hints: ['Give one weight per class.'] },
    );
  return p;
}

interface Margins {
  /** [N, 1] of the labels. */
  readonly labels: Tensor;
  /** Positive part of margin - x[label] + x, [N, C]; 0 at the label. */
  readonly excess: Tensor;
  /** [N, 1], or null. */
  readonly weights: Tensor | null;
  readonly classes: number;
}

function marginsOf({
  self,
  target,
  margin,
  weight,
}: {
  self: Tensor;
  target: Tensor;
  margin: ScalarLike;
  weight: Tensor | null;
}): Margins {
  const x = rows(self);
  const [frames, classes] = x.sizes;
  const labels = reshape(toDtype(target, 'int64'), [frames, 1]);
  const own = eq(arange(classes, { device: x.device }), labels);
  const excess = relu(add(rsub(gather(x, 1, labels), margin), x));
  return {
    labels,
    classes,
    excess: maskedFill(excess, own, 0),
    weights:
      weight === null
        ? null
        : gather(expand(reshape(weight, [1, classes]), [frames, classes]), 1, labels),
  };
}

const singleOp: OpOverload<Tensor> = withOverloads(
  defineOp(
    'aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor',
    {
      decompose: (args) => {
        const p = checkSingle(args);
        const { excess, weights, classes } = marginsOf(args);
        const powers = p === 1 ? excess : mul(excess, excess);
        const losses = div(
          sum(weights === null ? powers : mul(powers, weights), 1),
          Math.max(classes, 1),
        );
        if (args.reduction !== 0) return reduced(losses, args.reduction);
        return args.target.ndim === 0 ? reshape(losses, []) : losses;
      },
    },
  ),
  defineOp(
    'aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor',
    {
      decompose: (args) => {
        const p = checkSingle(args);
        const { labels, excess, weights, classes } = marginsOf(args);
        const frames = labels.sizes[0]!;
        const positive = toDtype(gt(excess, 0), excess.dtype);
        let slopes = p === 1 ? positive : mul(excess, 2);
        if (weights !== null) slopes = mul(slopes, weights);
        const grad = args.grad_output;
        const each = args.reduction === 0 ? reshape(grad, [frames, 1]) : grad;
        const scaled = mul(slopes, div(each, args.reduction === 1 ? classes * frames : classes));
        const back = scatterAdd(scaled, 1, labels, neg(sum(scaled, 1, { keepdim: true })));
        return reshape(back, args.self.sizes);
      },
    },
  ),
);

/** @throws shape-mismatch, dtype-mismatch */
function checkSeveral(self: Tensor, target: Tensor): void {
  checkScores('multilabel_margin_loss', self);
  checkClassType('multilabel_margin_loss', target);
  if (sameNumbers(rows(self).sizes, rows(target).sizes)) return;
  throw new TesseraError(
    'shape-mismatch',
    `multilabel_margin_loss: inconsistent target size: ${formatSizes(target.sizes)} for input of size: ${formatSizes(self.sizes)}`,
    { hints: ['The target lists the classes of a sample, -1 after the last one.'] },
  );
}

interface Labels {
  /** Whether a position of the target comes before its first -1, [N, C]. */
  readonly counts: Tensor;
  /** The class there, or 0. */
  readonly classes: Tensor;
}

function labelsOf(target: Tensor): Labels {
  const labels = toDtype(rows(target), 'int64');
  const counts = eq(cumsum(toDtype(lt(labels, 0), 'int64'), 1), 0);
  return { counts, classes: maskedFill(labels, logicalNot(counts), 0) };
}

/** max(0, 1 - x[label] + x[other]) for every pair of a label and a class that is none, [N, label, other]. */
function pairs(x: Tensor, { counts, classes }: Labels, isTarget: Tensor): Tensor {
  const excess = relu(add(unsqueeze(rsub(gather(x, 1, classes), 1), 2), unsqueeze(x, 1)));
  const left = logicalOr(unsqueeze(logicalNot(counts), 2), unsqueeze(isTarget, 1));
  return maskedFill(excess, left, 0);
}

const severalOp: OpOverload<[Tensor, Tensor]> = withOverloads(
  defineOp(
    'aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)',
    {
      decompose: ({ self, target, reduction }) => {
        checkSeveral(self, target);
        const x = rows(self);
        const labels = labelsOf(target);
        const none = zeros(x.sizes, { dtype: 'int64', device: x.device });
        const isTarget = gt(
          scatterAdd(none, 1, labels.classes, toDtype(labels.counts, 'int64')),
          0,
        );
        const losses = div(sum(pairs(x, labels, isTarget), [1, 2]), Math.max(x.sizes[1]!, 1));
        const output =
          reduction !== 0
            ? reduced(losses, reduction)
            : target.ndim <= 1
              ? reshape(losses, [])
              : losses;
        return [output, reshape(toDtype(isTarget, self.dtype), target.sizes)];
      },
    },
  ),
  defineOp(
    'aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) -> Tensor',
    {
      decompose: ({ grad_output, self, target, reduction, is_target }) => {
        checkSeveral(self, target);
        const x = rows(self);
        const [frames, count] = x.sizes;
        const labels = labelsOf(target);
        const isTarget = logicalAnd(rows(is_target), rows(is_target));
        const active = toDtype(gt(pairs(x, labels, isTarget), 0), x.dtype);
        const each = reduction === 0 ? reshape(grad_output, [frames, 1, 1]) : grad_output;
        const slopes = mul(active, div(each, reduction === 1 ? count * frames : count));
        const back = scatterAdd(sum(slopes, 1), 1, labels.classes, neg(sum(slopes, 2)));
        return reshape(back, self.sizes);
      },
    },
  ),
);

const severalPlainOp = defineOp(
  'aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
  {
    decompose: ({ self, target, reduction }) => callOp(severalOp, [self, target, reduction])[0],
  },
);

/** Parameters of `multiMarginLoss`. */
export interface MultiMarginLossOptions extends LossOptions {
  /** Power of the margins, 1 or 2 (default 1). */
  readonly p?: number;
  readonly margin?: number;
  /** One weight per class. */
  readonly weight?: Tensor | null;
}
const MULTI_MARGIN_LOSS: OptionNames<MultiMarginLossOptions> = {
  p: true,
  margin: true,
  weight: true,
  reduction: true,
};

/** Mean over the other classes of max(0, margin - x[target] + x)ᵖ: [N, C], [N] → []. @throws shape-mismatch, invalid-argument, index-out-of-range */
export function multiMarginLoss(
  input: Tensor,
  target: Tensor,
  options: MultiMarginLossOptions = {},
): Tensor {
  checkOptionNames('multiMarginLoss', options, MULTI_MARGIN_LOSS);
  const { p = 1, margin = 1, weight = null } = options;
  return callOp(singleOp, [input, target, p, margin, weight, reductionOf(options)]);
}

/** Mean over pairs of a label and a class that is none of max(0, 1 - x[label] + x[class]); targets list labels, then -1. @throws shape-mismatch, index-out-of-range */
export function multilabelMarginLoss(
  input: Tensor,
  target: Tensor,
  options: LossOptions = {},
): Tensor {
  checkOptionNames('multilabelMarginLoss', options, LOSS);
  return callOp(severalPlainOp, [input, target, reductionOf(options)]);
}
