/**
 * @file A kernel backend that records what it is asked to do and runs plans in the reference interpreter.
 *
 * It shows what the compiler hands to a backend without any code generation, and is itself a small
 * example of the contract that a third-party backend implements.
 */
import {
  type Capabilities,
  type Executable,
  type ExecutionPlan,
  type FusedKernel,
  type KernelBackend,
  type KernelSource,
  hostBackend,
} from '@tessera/inductor-core';

/** What happened, in order. */
export type BackendEvent =
  | { readonly kind: 'generate'; readonly kernel: string }
  | { readonly kind: 'load'; readonly plan: ExecutionPlan }
  | { readonly kind: 'run'; readonly plan: string; readonly scalars: readonly number[] };

/** See the file header. */
export class RecordingBackend implements KernelBackend {
  readonly name = 'recording';
  readonly device = 'cpu';
  readonly events: BackendEvent[] = [];
  readonly capabilities: Capabilities;
  readonly #host: KernelBackend;

  constructor(capabilities: Partial<Capabilities> = {}) {
    this.#host = hostBackend({
      name: this.name,
      capabilities: { maxBuffersPerKernel: 64, splitReductionThreshold: 1 << 30, ...capabilities },
    });
    this.capabilities = this.#host.capabilities;
  }

  generate(kernel: FusedKernel): KernelSource {
    this.events.push({ kind: 'generate', kernel: kernel.name });
    return this.#host.generate(kernel);
  }

  load(plan: ExecutionPlan): Executable {
    this.events.push({ kind: 'load', plan });
    const loaded = this.#host.load(plan);
    return {
      ...loaded,
      run: (inputs, outputs, scalars) => {
        this.events.push({ kind: 'run', plan: plan.name, scalars: [...scalars] });
        loaded.run(inputs, outputs, scalars);
      },
    };
  }
}
