/**
 * @file Batching of the negative log likelihood: each example picks its classes and has its own total weight.
 */
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../../ops/arrange/copy.js';
import { zerosLike } from '../../ops/factory/like.js';
import { gather } from '../../ops/indexing/scatter.js';
import { indexSelect } from '../../ops/indexing/select.js';
import { div } from '../../ops/pointwise/division.js';
import { mul, neg } from '../../ops/pointwise/arithmetic.js';
import { ne } from '../../ops/pointwise/comparison.js';
import { where } from '../../ops/pointwise/where.js';
import { sum } from '../../ops/reduction/reduction.js';
import { squeeze, unsqueeze } from '../../ops/view/dims.js';
import { reshape } from '../../ops/view/view.js';
import type { BatchRule } from '../batch-call.js';

const MEAN = 1;

/** Arguments of `nll_loss_forward` and `nll_loss2d_forward`. */
interface NllArguments {
  /** [C], [N, C] or [N, C, …] */
  readonly self: Tensor;
  /** The shape of `self` without C. */
  readonly target: Tensor;
  /** [C] */
  readonly weight: Tensor | null;
  readonly reduction: number;
  readonly ignore_index: number;
}

/** `[output, totalWeight]` of one example, in operators that have rules. */
export const lossFormula: BatchRule<NllArguments> = ({ named }) => {
  const { self, target, weight, reduction, ignore_index: ignored } = named;
  const dim = self.ndim === 1 ? 0 : 1;
  const counted = ne(target, ignored);
  const zero = zerosLike(target);
  const classes = toDtype(where(counted, target, zero), 'int64');
  const picked = neg(squeeze(gather(self, dim, unsqueeze(classes, dim)), dim));
  const all = toDtype(counted, self.dtype);
  const weights =
    weight === null
      ? all
      : mul(reshape(indexSelect(weight, 0, reshape(classes, [-1])), classes.sizes), all);
  const losses = where(counted, mul(picked, weights), zerosLike(picked));
  // Unreduced losses need no total.
  if (reduction === 0) return [losses, zerosLike(sum(losses))];
  const total = sum(weights);
  return [reduction === MEAN ? div(sum(losses), total) : sum(losses), total];
};
