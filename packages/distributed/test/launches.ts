/**
 * @file Which kernels compiled plans launch, in order.
 */
import { observePlans } from '@tessera/inductor-core';

/** The kernels of the plans with extern calls that `fn` compiles. */
export function launchesOf(fn: () => void): string[] {
  const found: string[] = [];
  const stop = observePlans((plan) => {
    if (plan.kernels.some(({ kind }) => kind === 'extern'))
      found.push(...plan.launches.map(({ kernel }) => plan.kernels[kernel]!.name));
  });
  try {
    fn();
  } finally {
    stop();
  }
  return found;
}
