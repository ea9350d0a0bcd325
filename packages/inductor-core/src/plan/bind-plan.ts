/**
 * @file The memory of a plan's run on the host: plain arrays over the caller's tensors and over scratch.
 *
 * For the reference interpreter and for backends whose kernels are JavaScript.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, type Tensor, cpuHeap } from '@tessera/tensor';
import { storageExtent } from '@tessera/tensor/internal';
import type { BufferData } from '../ir/interpret.js';
import type { ExecutionPlan, PlanBuffer } from './execution-plan.js';

/** Memory for `count` elements of a dtype, as the interpreter holds them. */
export function allocateData(dtype: DType, count: number): BufferData {
  switch (dtype) {
    case 'float64':
      return new Float64Array(count);
    case 'int64':
      return new BigInt64Array(count);
    case 'int32':
      return new Int32Array(count);
    case 'int16':
      return new Int16Array(count);
    case 'int8':
      return new Int8Array(count);
    case 'uint8':
    case 'bool':
      return new Uint8Array(count);
    default:
      return new Float32Array(count);
  }
}

/**
 * The memory of a CPU tensor from its own element 0, as an array. It is valid until memory is allocated:
 * ask anew for every run.
 *
 * @throws dtype-unsupported for 16-bit floats, which JavaScript has no arrays of
 */
export function hostData(tensor: Tensor): BufferData {
  const heap = cpuHeap();
  const count = storageExtent(tensor.sizes, tensor.strides);
  const at = tensor.dataPtr();
  const view = <T>(array: { subarray(begin: number, end: number): T }, width: number): T =>
    array.subarray(at / width, at / width + count);
  switch (tensor.dtype) {
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
      throw new TesseraError(
        'dtype-unsupported',
        `There is no JavaScript array of ${tensor.dtype} elements.`,
        { hints: ['Leave the type out of the capabilities of the backend.'] },
      );
  }
}

/**
 * Memory of every buffer of a plan for one run. Arena buffers are arrays of their own, filled with NaN
 * first, so that a read of what was never written shows.
 *
 * @param inputs one array per plan input
 * @param outputs one array per plan output
 */
export function bindPlan(
  plan: ExecutionPlan,
  inputs: readonly BufferData[],
  outputs: readonly BufferData[],
): BufferData[] {
  return plan.buffers.map((buffer) => memoryOf(plan, buffer, inputs, outputs));
}

function memoryOf(
  plan: ExecutionPlan,
  buffer: PlanBuffer,
  inputs: readonly BufferData[],
  outputs: readonly BufferData[],
): BufferData {
  const { source } = buffer;
  switch (source.kind) {
    case 'input':
      return inputs[source.index]!;
    case 'output':
      return outputs[source.index]!;
    case 'constant':
      return [...plan.constants[source.index]!.values];
    case 'arena': {
      const data = allocateData(buffer.dtype, buffer.numel);
      return data instanceof Float32Array || data instanceof Float64Array ? data.fill(NaN) : data;
    }
  }
}
