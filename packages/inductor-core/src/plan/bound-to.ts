/**
 * @file The check that binds a tensor to a plan: it must have memory on the plan's device.
 *
 * An address or a buffer of another device would be written to as if it were the plan's, so whoever takes the
 * memory of an argument asks here first. Dtypes and layouts are the guards' business.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { ExecutionPlan } from './execution-plan.js';

/**
 * The storage of an argument of a plan.
 *
 * @throws device-mismatch, use-after-dispose, fake-data-access
 */
export function boundTo(
  plan: Pick<ExecutionPlan, 'name' | 'device'>,
  role: 'input' | 'output',
  index: number,
  tensor: Tensor,
): Tensor['storage'] {
  const { storage } = tensor;
  if (storage.device === plan.device) {
    if (storage.state !== 'real') storage.assertReadable(`${role} ${index} of plan '${plan.name}'`);
    return storage;
  }
  throw new TesseraError(
    'device-mismatch',
    `Plan '${plan.name}' runs on device '${plan.device}', but ${role} ${index} is on '${storage.device}'.`,
    {
      context: { plan: plan.name, argument: index, device: storage.device },
      hints: [`Move it first: x.to('${plan.device}').`],
    },
  );
}
