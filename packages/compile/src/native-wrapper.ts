/**
 * @file `config.nativeWrapper`: compiled plans must run without JavaScript between their kernels.
 *
 * Plans run that way by themselves (one call into WebAssembly on `cpu`, one command buffer on `wgpu`)
 * unless an operator falls back to its reference kernel, which is JavaScript, or on `wgpu` has a kernel of the
 * program's only. With the option on, that is an error that names the operators instead of a slower run.
 */
import { type BetweenPlans, type CompiledGraph, isBetweenPlans } from '@tessera/inductor-core';
import { TesseraError, defineConfig, option } from '@tessera/shared';
import { kernelBackend } from './device-backends.js';

const config = defineConfig('', {
  nativeWrapper: option(false, 'refuse plans that need JavaScript between their kernels'),
});

/** What runs between two plans; with the option on, nothing does, and operators without other code are missing. */
export const betweenPlans: BetweenPlans = (op, device) =>
  !config.nativeWrapper && isBetweenPlans(kernelBackend(device), op);

/** Checks the plan of a graph if the option is on. @throws kernel-missing */
export function checkNative(graph: Pick<CompiledGraph, 'plan'>): void {
  if (!config.nativeWrapper) return;
  // The plan of code for all sizes is made when somebody looks at it.
  const { plan } = graph;
  const externs = new Set(
    plan.launches.flatMap(({ kernel: index }) => {
      const kernel = plan.kernels[index]!;
      return kernel.kind === 'extern' ? [kernel.op] : [];
    }),
  );
  if (externs.size === 0) return;
  const names = [...externs].join(', ');
  throw new TesseraError(
    'kernel-missing',
    `nativeWrapper: plan '${plan.name}' runs reference kernels, which are JavaScript: ${names}.`,
    {
      context: { ops: [...externs] },
      hints: ['Register lowerings for them, or compile without nativeWrapper.'],
    },
  );
}
