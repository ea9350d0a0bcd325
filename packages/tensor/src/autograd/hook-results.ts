/**
 * @file What hooks made of gradients, checked.
 */
import { TesseraError } from '@tessera/shared';
import { sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { GradHook, GradNode } from './grad-node.js';

/** The gradient after a hook saw it. @throws dtype-mismatch, shape-mismatch */
export function afterHook(hook: GradHook, grad: Tensor): Tensor {
  const result = hook(grad) ?? grad;
  if (result.dtype !== grad.dtype) {
    throw new TesseraError(
      'dtype-mismatch',
      `hook '${hook.name}' has changed the type of value (was ${grad.dtype} got ${result.dtype})`,
      { hints: [`Return a gradient of the same dtype: .to('${grad.dtype}').`] },
    );
  }
  if (!sameNumbers(result.sizes, grad.sizes)) {
    throw new TesseraError('shape-mismatch', `hook '${hook.name}' has changed the size of value`, {
      context: { got: result.sizes, expected: grad.sizes },
      hints: ['Return a gradient of the same shape.'],
    });
  }
  return result;
}

/** What a hook returned, if anything. @throws invalid-argument */
export function replaced(
  node: GradNode,
  grads: readonly (Tensor | null)[],
  result: readonly (Tensor | null)[] | void,
): readonly (Tensor | null)[] {
  if (result === undefined) return grads;
  if (result.length === grads.length) return result;
  throw new TesseraError(
    'invalid-argument',
    `hook of ${node.name} has returned an incorrect number of values (got ${result.length}, but expected ${grads.length})`,
    { hints: ['Return one value per gradient, null for none, or nothing.'] },
  );
}
