/**
 * @file `onceDifferentiable`: a backward of a custom Function that cannot be differentiated itself.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import type { FunctionContext } from './function-context.js';
import type { FunctionGradients } from './function-node.js';
import { gradMode, noGrad } from './grad-mode.js';
import { GradNode } from './grad-node.js';
import { gradEdge, requiresGrad, setHistory } from './history.js';

/** The history of a result of a backward that may run once only. */
class DelayedError extends GradNode {
  apply(): never {
    throw new TesseraError(
      'derivative-missing',
      'trying to differentiate twice a function that was marked with onceDifferentiable',
      { hints: ['Write its backward in differentiable operators, and do not mark it.'] },
    );
  }
}

/**
 * Wraps the `backward` of a custom Function that uses values outside of the graph: it runs without recording, and
 * differentiating its results is an error instead of a wrong gradient.
 *
 * @see torch.autograd.function.once_differentiable
 * @example static backward = onceDifferentiable((ctx: FunctionContext, grad: Tensor) => grad.mul(2));
 */
export function onceDifferentiable<G extends (Tensor | null)[], R extends FunctionGradients>(
  backward: (ctx: FunctionContext, ...grads: G) => R,
): (ctx: FunctionContext, ...grads: G) => R {
  return (ctx, ...grads) => {
    const result = noGrad(() => backward(ctx, ...grads));
    const sources = grads.filter((grad) => grad !== null && requiresGrad(grad));
    if (!gradMode.enabled || sources.length === 0) return result;
    const list = isTensor(result) ? [result] : ((result ?? []) as readonly (Tensor | null)[]);
    const outs = list.map((out) => (out == null ? null : noGrad(() => out.detach())));
    const made = outs.filter((out) => out !== null);
    const node = new DelayedError(
      'DelayedError',
      sources.map((grad) => gradEdge(grad!)),
      made,
    );
    made.forEach((out, i) => setHistory(out, node, i));
    return (isTensor(result) ? outs[0] : outs) as R;
  };
}
