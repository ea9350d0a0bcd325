/**
 * @file A kernel backend for tests that runs plans in the reference interpreter on CPU tensors.
 */
import { type DType, type Tensor } from '@tessera/tensor';
import { makeTensor, readNumbers, storageExtent, writeNumbers } from '@tessera/tensor/internal';
import {
  type BufferData,
  type Capabilities,
  type Executable,
  type ExecutionPlan,
  type ExternRunner,
  type KernelBackend,
  allocateData,
  interpretPlan,
  printKernel,
  verifyPlan,
} from '../src/index.js';
import { target } from './graph-builder.js';

/** Elements from the tensor's element 0 to the last reachable one. */
export function memoryOf(tensor: Tensor): Tensor {
  const extent = storageExtent(tensor.sizes, tensor.strides);
  return makeTensor(
    tensor.storage,
    tensor.dtype,
    tensor.device,
    [extent],
    [1],
    tensor.storageOffset,
  );
}

function toData(dtype: DType, values: ArrayLike<number>): BufferData {
  const data = allocateData(dtype, values.length);
  if (data instanceof BigInt64Array)
    for (let i = 0; i < values.length; i++) data[i] = BigInt(values[i]!);
  else for (let i = 0; i < values.length; i++) data[i] = values[i]!;
  return data;
}

/** Copies a tensor's memory into an array for the interpreter. */
export function readData(tensor: Tensor): BufferData {
  return toData(tensor.dtype, readNumbers(memoryOf(tensor)));
}

/** Writes such an array back. */
export function writeData(tensor: Tensor, data: BufferData): void {
  writeNumbers(memoryOf(tensor), Float64Array.from(data as ArrayLike<number>, Number));
}

/** The backend; every plan is verified before it is loaded. */
export function interpreterBackend(
  overrides: Partial<Capabilities> = {},
  extern?: ExternRunner,
): KernelBackend {
  return {
    name: 'interpreter',
    device: 'cpu',
    capabilities: target(overrides).capabilities,
    generate: (kernel) => ({ kernel: kernel.name, language: 'text', text: printKernel(kernel) }),
    load: (plan: ExecutionPlan): Executable => {
      verifyPlan(plan);
      return {
        plan,
        sources: plan.kernels.map((kernel) => ({
          kernel: kernel.name,
          language: 'text',
          text: printKernel(kernel),
        })),
        run: (inputs, outputs, scalars) => {
          const data = inputs.map(readData);
          const results = interpretPlan(plan, data, scalars, extern);
          const written = new Set(
            plan.launches.flatMap((launch) =>
              launch.buffers.filter(
                (_, i) => plan.kernels[launch.kernel]!.params[i]!.access !== 'read',
              ),
            ),
          );
          plan.buffers.forEach((buffer, i) => {
            if (buffer.source.kind === 'input' && written.has(i))
              writeData(inputs[buffer.source.index]!, data[buffer.source.index]!);
          });
          outputs.forEach((output, i) => writeData(output, results[i]!));
        },
        dispose: () => undefined,
      };
    },
  };
}
