/**
 * @file `tessera::leaf`: a tensor without history that takes gradients, as an operator.
 *
 * Functions that differentiate a function of the user start from leaves of their own. As one operator, making
 * a leaf is part of a captured program. `tessera::leaf.of_program` is what capture records for `requiresGrad_()`.
 */
import { callOp } from '../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../op/op-overload.js';
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

/** What a tensor is after `requiresGrad_()`: the same memory, and a view of what it was a view of. */
export const programLeaf: OpOverload<Tensor> = defineOp(
  'tessera::leaf.of_program(Tensor(a) self) -> Tensor(a)',
  {
    decompose: ({ self }) => {
      const leaf = noGrad(() => self.detach());
      leaf.base = self.base;
      leaf.madeAs = self.madeAs;
      autogradMeta(leaf).versionAtGradFn = self.autograd?.versionAtGradFn ?? 0;
      return leaf.requiresGrad_();
    },
  },
);
