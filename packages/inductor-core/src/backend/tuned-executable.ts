/**
 * @file `config.maxAutotune`: plans whose code is chosen by measuring on the device.
 *
 * Measuring a device that works asynchronously takes time that nobody may wait for, so a plan runs at once
 * with the code that the backend would choose anyway. When the backend has measured, the plan is loaded
 * again, and later runs take the faster code.
 */
import { type Steps, atOnce, defineConfig, log, option } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import type { ExecutionPlan } from '../plan/execution-plan.js';
import type { Executable, KernelBackend, KernelSource } from './kernel-backend.js';

const config = defineConfig('', {
  maxAutotune: option(
    false,
    'measure ways to run kernels on the device, where the backend has several, and keep the fastest',
  ),
});

function load(backend: KernelBackend, plan: ExecutionPlan): Executable {
  return atOnce(steps(backend, plan));
}

function* steps(backend: KernelBackend, plan: ExecutionPlan): Steps<Executable> {
  const isSliced = yield;
  const executable =
    isSliced && backend.loadingSteps !== undefined
      ? yield* backend.loadingSteps(plan)
      : backend.load(plan);
  log('output_code', () =>
    executable.sources.map(({ kernel, text }) => `// ${kernel}\n${text}`).join('\n'),
  );
  return executable;
}

/** Loads a plan, with the pauses that the backend makes; under `maxAutotune` with code that is measured. */
export function* loadingSteps(backend: KernelBackend, plan: ExecutionPlan): Steps<Executable> {
  const executable = yield* steps(backend, plan);
  const isTuned = config.maxAutotune && backend.tune !== undefined;
  return isTuned ? new TunedExecutable(backend, plan, executable) : executable;
}

/** See the file header. */
class TunedExecutable implements Executable {
  private disposed = false;

  constructor(
    backend: KernelBackend,
    readonly plan: ExecutionPlan,
    private current: Executable,
  ) {
    backend.tune!(plan).then(
      (isFaster) => {
        if (!isFaster || this.disposed) return;
        const previous = this.current;
        this.current = load(backend, plan);
        previous.dispose();
        log('perf', () => `Loaded ${plan.name} again with the kernels measured fastest`);
      },
      // A measurement that fails (a lost device, no memory) changes nothing.
      (error: unknown) => log('perf', () => `Could not measure ${plan.name}: ${String(error)}`),
    );
  }

  get sources(): readonly KernelSource[] {
    return this.current.sources;
  }

  get launchOrigins(): Executable['launchOrigins'] {
    return this.current.launchOrigins;
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    this.current.run(inputs, outputs, scalars);
  }

  get allocateOutputs(): Executable['allocateOutputs'] {
    const { current } = this;
    return current.allocateOutputs?.bind(current);
  }

  dispose(): void {
    this.disposed = true;
    this.current.dispose();
  }
}
