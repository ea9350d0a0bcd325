/**
 * @file Kernel backends by device: what `inductor` compiles with, and what eager ops run through.
 */
import { onlyReferenceKernels } from '@tessera/inductor-cpu';
import { EagerProvider, type KernelBackend, deviceSteps, wholeSteps } from '@tessera/inductor-core';
import { TesseraError, defineConfig, oneOf, option } from '@tessera/shared';
import { registerKernelProvider } from '@tessera/tensor/internal';

/** `config` section `eager`. */
export const eagerConfig: { readonly kernels: string } = defineConfig('eager', {
  kernels: option(
    'inductor',
    "What eager ops on 'cpu' run: 'inductor' compiles each once, 'reference' runs the plain kernels.",
    oneOf(['inductor', 'reference']),
  ),
});

const backends = new Map<string, KernelBackend>();
/** How graphs are compiled: programs that have the CPU only need not know how to split them. */
export let graphSteps: typeof deviceSteps = wholeSteps;

/** Makes a kernel backend the one of its device, for compiled functions and eager ops. */
export function registerKernelBackend(backend: KernelBackend): void {
  graphSteps = deviceSteps;
  addKernelBackend(backend);
}

/** `registerKernelBackend` for the first device. */
export function addKernelBackend(backend: KernelBackend): void {
  // Again: what eager ops have compiled stays.
  if (backends.get(backend.device) === backend) return;
  backends.set(backend.device, backend);
  const provider = new EagerProvider(backend);
  const isAsked = (): boolean =>
    backend.device !== 'cpu' || (eagerConfig.kernels !== 'reference' && !onlyReferenceKernels());
  registerKernelProvider(backend.device, {
    run: (...call) => isAsked() && provider.run(...call),
    produce: (...call) => (isAsked() ? backend.produce?.(...call) : null),
  });
}

/** The kernel backend of a device. @throws device-unavailable */
export function kernelBackend(device: string): KernelBackend {
  const backend = backends.get(device);
  if (backend === undefined) {
    throw new TesseraError(
      'device-unavailable',
      `No kernel backend is registered for device '${device}'. Registered: ${[...backends.keys()].join(', ')}.`,
      {
        context: { device },
        hints: [
          device === 'wgpu'
            ? 'Call `await initWebGpu()` from @tessera/compile first.'
            : 'Register one with registerKernelBackend(backend).',
        ],
      },
    );
  }
  return backend;
}
