/**
 * @file Kernel backends by device: what `inductor` compiles with, and what eager ops run through.
 */
import { onlyReferenceKernels } from '@tessera/inductor-cpu';
import { EagerProvider, type KernelBackend, splitSteps } from '@tessera/inductor-core';
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
/** How a graph over several devices is compiled. Programs of one device do not have it. */
let split: typeof splitSteps | null = null;

/** Makes a kernel backend the one of its device, for compiled functions and eager ops. */
export function registerKernelBackend(backend: KernelBackend): void {
  split = splitSteps;
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

/** How a graph over these devices is compiled. @throws device-unavailable when one has no kernel backend */
export function severalDevices(devices: Iterable<string>): typeof splitSteps {
  for (const device of devices) kernelBackend(device);
  return split!;
}
