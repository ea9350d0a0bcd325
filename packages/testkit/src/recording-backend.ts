/**
 * @file A kernel backend that records what it is asked to do and runs plans in the reference interpreter.
 *
 * It shows what the compiler hands to a backend without any code generation, and is itself a small
 * example of the contract that a third-party backend implements.
 */
import {
  type BufferData,
  type Capabilities,
  type Executable,
  type ExecutionPlan,
  type FusedKernel,
  type KernelBackend,
  type KernelSource,
  interpretPlan,
  printKernel,
} from '@tessera/inductor-core';
import { DTYPES, type DType, type Tensor, cpuHeap, storageExtent } from '@tessera/tensor';

/** What happened, in order. */
export type BackendEvent =
  | { readonly kind: 'generate'; readonly kernel: string }
  | { readonly kind: 'load'; readonly plan: ExecutionPlan }
  | { readonly kind: 'run'; readonly plan: string; readonly scalars: readonly number[] };

/** Memory of a CPU tensor as the interpreter's array, or a copy for 16-bit floats. */
function dataOf(tensor: Tensor): BufferData {
  const heap = cpuHeap();
  const count = storageExtent(tensor.sizes, tensor.strides);
  const at = tensor.dataPtr();
  const view = <T>(array: { subarray(begin: number, end: number): T }, width: number): T =>
    array.subarray(at / width, at / width + count);
  const dtype: DType = tensor.dtype;
  switch (dtype) {
    case 'float32':
      return view(heap.f32, 4);
    case 'float64':
      return view(heap.f64, 8);
    case 'int64':
      return view(heap.i64, 8);
    case 'int32':
      return view(heap.i32, 4);
    case 'int16':
      return view(heap.i16, 2);
    case 'int8':
      return view(heap.i8, 1);
    case 'uint8':
    case 'bool':
      return view(heap.u8, 1);
    default:
      throw new Error(`The recording backend does not run ${dtype}; use float32.`);
  }
}

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
        const values = interpretPlan(plan, inputs.map(dataOf), scalars);
        values.forEach((value, i) => {
          const target = dataOf(outputs[i]!);
          for (let k = 0; k < target.length; k++) target[k] = value[k]!;
        });
      },
      dispose: () => undefined,
    };
  }
}
