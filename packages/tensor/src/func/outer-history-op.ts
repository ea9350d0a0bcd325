/**
 * @file `tessera::outer_history`: a result of a derivative as the code around it sees it, as an operator.
 *
 * The leaves of a derivative are nobody's but its own. A result that depends on them alone has no history outside;
 * one that depends on more keeps its history. As an operator the decision is made where the history is: on the
 * values of a `vmap`, and on the fake tensors of a captured program.
 */
import { isRecorded } from '../autograd/differentiate.js';
import { noGrad } from '../autograd/grad-mode.js';
import { hasOuterHistory } from '../autograd/outer-history.js';
import { callOp } from '../dispatch/dispatcher.js';
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';

function outerHistory(self: Tensor, leaves: readonly Tensor[]): Tensor {
  return hasOuterHistory([self], leaves) ? self : noGrad(() => self.detach());
}

const op = defineOp('tessera::outer_history(Tensor(a) self, Tensor[] leaves) -> Tensor(a)', {
  decompose: ({ self, leaves }) => outerHistory(self, leaves),
});

/** A tensor with the history that it has outside of the derivative with respect to `leaves`. */
export function outerHistoryOf(tensor: Tensor, leaves: readonly Tensor[]): Tensor {
  if (!tensor.requiresGrad) return tensor;
  // What came before a graph break has its history by now, which the rest of the capture does not see.
  return isRecorded(tensor) ? callOp(op, [tensor, leaves]) : outerHistory(tensor, leaves);
}
