/**
 * @file `tessera::leaf`: a tensor without history that takes gradients, as an operator.
 *
 * Functions that differentiate a function of the user start from leaves of their own. As one operator, making
 * a leaf is part of a captured program.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { AccumulateGrad } from './accumulate-grad.js';
import { autogradMeta } from './autograd-meta.js';
import { noGrad } from './grad-mode.js';
import { takeSequenceNr } from './grad-node.js';

const leafOp = defineOp('tessera::leaf(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => {
    const leaf = noGrad(() => self.detach()).requiresGrad_();
    autogradMeta(leaf).accumulator = new AccumulateGrad(leaf, takeSequenceNr());
    return leaf;
  },
});

/** The same values as a leaf that requires grad. @throws dtype-unsupported */
export function leafOf(tensor: Tensor): Tensor {
  return callOp(leafOp, [tensor]);
}
