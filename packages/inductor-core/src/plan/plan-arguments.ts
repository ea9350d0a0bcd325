/**
 * @file What a plan from a text is run with, compared with what it says of its arguments. Programs that read no plans do
 * not have this.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { sameNumbers, storageExtent } from '@tessera/tensor/internal';
import type { ExecutionPlan } from './execution-plan.js';

function misfit(plan: ExecutionPlan, what: string): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `Plan '${plan.name}' does not fit its arguments: ${what}.`,
    {
      context: { plan: plan.name },
      hints: ['Run it with tensors of the dtypes and sizes that it was compiled for.'],
    },
  );
}

function elementsOf({ sizes, strides }: Tensor): number {
  return storageExtent(sizes, strides);
}

/**
 * Whether tensors and scalars are what a plan was made for: their number, dtypes, devices and extents.
 *
 * @throws plan-invalid
 */
export function checkPlanArguments(
  plan: ExecutionPlan,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  scalars: readonly number[],
): void {
  const counts = [inputs.length, outputs.length, scalars.length];
  const wanted = [plan.numInputs, plan.outputs.length, plan.scalars.length];
  if (!sameNumbers(counts, wanted))
    throw misfit(
      plan,
      `it takes ${wanted.join(', ')} inputs, outputs and scalars, not ${counts.join(', ')}`,
    );
  plan.outputs.forEach(({ dtype, sizes, strides }, i) => {
    const tensor = outputs[i]!;
    if (
      tensor.dtype !== dtype ||
      !sameNumbers(tensor.sizes, sizes) ||
      elementsOf(tensor) !== storageExtent(sizes, strides)
    )
      throw misfit(plan, `output ${i} is to be ${dtype} [${sizes.join(', ')}]`);
  });
  for (const { dtype, numel, source } of plan.buffers) {
    if (source.kind !== 'input' && source.kind !== 'output') continue;
    const tensor = (source.kind === 'input' ? inputs : outputs)[source.index]!;
    const name = `${source.kind} ${source.index}`;
    if (tensor.device !== plan.device) throw misfit(plan, `${name} is on ${tensor.device}`);
    if (tensor.dtype !== dtype) throw misfit(plan, `${name} is ${tensor.dtype}, not ${dtype}`);
    const elements = elementsOf(tensor);
    if (elements < numel || (source.kind === 'input' && elements !== numel))
      throw misfit(
        plan,
        `${name} has ${elements} elements from its first to its last, not ${numel}`,
      );
  }
}
