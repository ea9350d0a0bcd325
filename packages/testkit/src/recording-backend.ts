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
  hostData,
  interpretPlan,
  printKernel,
} from '@tessera/inductor-core';
import { DTYPES, type DType } from '@tessera/tensor';

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

  constructor(capabilities: Partial<Capabilities> = {}) {
    this.capabilities = {
      dtypes: new Set(
        (Object.keys(DTYPES) as DType[]).filter(
          (dtype) => dtype !== 'float16' && dtype !== 'bfloat16',
        ),
      ),
      int64: 'native',
      maxBuffersPerKernel: 64,
      extern: false,
      parallelism: 1,
      splitReductionThreshold: 1 << 30,
      ...capabilities,
    };
  }

  generate(kernel: FusedKernel): KernelSource {
    this.events.push({ kind: 'generate', kernel: kernel.name });
    return { kernel: kernel.name, language: 'loop-ir', text: printKernel(kernel) };
  }

  load(plan: ExecutionPlan): Executable {
    this.events.push({ kind: 'load', plan });
    const sources = plan.kernels.map((kernel) => this.generate(kernel));
    return {
      plan,
      sources,
      run: (inputs, outputs, scalars) => {
        this.events.push({ kind: 'run', plan: plan.name, scalars: [...scalars] });
        const values = interpretPlan(plan, inputs.map(hostData), scalars);
        values.forEach((value, i) => {
          const target = hostData(outputs[i]!);
          for (let k = 0; k < target.length; k++) target[k] = value[k]!;
        });
      },
      dispose: () => undefined,
    };
  }
}
