/**
 * @file `compareEqualOutsAndGrads`: a function and its compiled form give the same results and gradients.
 */
import { type Module, Module as ModuleClass } from '@tessera/nn';
import { treeLeaves } from '@tessera/shared';
import { type Tensor, grad, isTensor } from '@tessera/tensor';
import { assertCloseAsync } from './assert-close.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- functions of any signature are compared
type Runnable = Module | ((...args: any[]) => unknown);

/**
 * Runs two functions or modules on the same inputs and asserts that results, and gradients of the sum of
 * the results with respect to every input that requires grad, are close.
 *
 * @see torch.testing._internal.common_utils.compare_equal_outs_and_grads
 */
export async function compareEqualOutsAndGrads(
  expected: Runnable,
  actual: Runnable,
  inputs: readonly unknown[],
): Promise<void> {
  const [reference, result] = [expected, actual].map((target) => outsAndGrads(target, inputs));
  await assertCloseAsync(result!.outs, reference!.outs, { message: 'results' });
  await assertCloseAsync(result!.grads, reference!.grads, { message: 'gradients' });
}

function outsAndGrads(
  target: Runnable,
  inputs: readonly unknown[],
): { readonly outs: Tensor[]; readonly grads: (Tensor | null)[] } {
  const raw =
    target instanceof ModuleClass ? target.call(...(inputs as never[])) : target(...inputs);
  const outs = treeLeaves(raw).filter(isTensor);
  const leaves = treeLeaves(inputs)
    .filter(isTensor)
    .filter((leaf) => leaf.requiresGrad);
  const differentiable = outs.filter((out) => out.requiresGrad);
  const grads =
    leaves.length === 0 || differentiable.length === 0
      ? []
      : grad(
          differentiable.map((out) => out.sum()).reduce((total, part) => total.add(part)),
          leaves,
          { allowUnused: true },
        );
  return { outs: outs.map((out) => out.detach()), grads: [...grads] };
}
