/**
 * @file Losses.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, ones, where } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';

/** Minus the log-probabilities of targets: [N, C, …] and [N, …], weighted per class, summed up. */
function negativeLogLikelihood(call: NodeCall, logs: Tensor): Tensor {
  const target = call.tensor(1).to('int64');
  const ignored = call.hasAttribute('ignore_index') ? call.int('ignore_index') : null;
  const counts = ignored === null ? null : target.ne(ignored);
  const safe = counts === null ? target : where(counts, target, target.mul(0));
  const classes =
    call.optional(2) ?? ones([logs.shape[1]!], { dtype: logs.dtype, device: call.device });
  const own = classes.indexSelect(0, safe.reshape([-1])).reshape(target.shape);
  const weights = counts === null ? own : own.mul(counts.to(own.dtype));
  const losses = logs.gather(1, safe.unsqueeze(1)).squeeze(1).neg().mul(weights);
  const reduction = call.choice('reduction', ['none', 'sum', 'mean'], 'mean');
  if (reduction === 'none') return losses;
  return reduction === 'sum' ? losses.sum() : losses.sum().div(weights.sum());
}

/** Operators of the standard domain. */
export const lossLists: ListOperatorTable = {
  NegativeLogLikelihoodLoss: (call) => [negativeLogLikelihood(call, call.tensor(0))],
  SoftmaxCrossEntropyLoss: (call) => {
    const logs = F.logSoftmax(call.tensor(0), 1);
    return [negativeLogLikelihood(call, logs), logs];
  },
};
