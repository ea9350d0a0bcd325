/**
 * @file Tensors on the device from plain numbers, and plans of one launch.
 */
import type { ExecutionPlan, FusedKernel } from '@tessera/inductor-core';
import { itemSize, Storage, type DType, type Tensor } from '@tessera/tensor';
import { bfloatToNumber, halfToNumber, makeTensor } from '@tessera/tensor/internal';
import type { WebGpu } from '../../src/index.js';
import { hostBytes } from '../../src/runtime/memory/host-bytes.js';

/** A tensor on the device with the given elements. */
export function deviceTensor(gpu: WebGpu, dtype: DType, values: readonly number[]): Tensor {
  const storage = Storage.allocate('wgpu', values.length * gpu.runtime.itemSize(dtype));
  gpu.runtime.upload(storage.memory!, 0, dtype, hostBytes(dtype, values));
  return makeTensor(storage, dtype, 'wgpu', [values.length], [1]);
}

/** Elements of bytes in host layout. */
export function hostNumbers(dtype: DType, bytes: Uint8Array): number[] {
  const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const size = itemSize(dtype);
  return Array.from({ length: bytes.byteLength / size }, (_, i) => {
    switch (dtype) {
      case 'float32':
        return data.getFloat32(i * size, true);
      case 'float16':
        return halfToNumber(data.getUint16(i * size, true));
      case 'bfloat16':
        return bfloatToNumber(data.getUint16(i * size, true));
      case 'int64':
        return Number(data.getBigInt64(i * size, true));
      case 'int32':
        return data.getInt32(i * size, true);
      case 'int16':
        return data.getInt16(i * size, true);
      case 'int8':
        return data.getInt8(i * size);
      default:
        return data.getUint8(i * size);
    }
  });
}

/** Elements of a tensor on the device. */
export async function readTensor(gpu: WebGpu, tensor: Tensor): Promise<number[]> {
  const count = tensor.sizes.reduce((a, b) => a * b, 1);
  return hostNumbers(
    tensor.dtype,
    await gpu.runtime.download(tensor.storage.memory!, tensor.storageOffset, tensor.dtype, count),
  );
}

/** A plan of one launch whose inputs are the kernel's parameters. */
export function singlePlan(kernel: FusedKernel, numel: (name: string) => number): ExecutionPlan {
  return {
    version: 1,
    name: `plan_${kernel.name}`,
    device: 'wgpu',
    buffers: kernel.params.map((param, index) => ({
      name: param.name,
      dtype: param.dtype,
      numel: numel(param.name),
      source: { kind: 'input', index },
    })),
    numInputs: kernel.params.length,
    outputs: [],
    scalars: kernel.scalars,
    constants: [],
    kernels: [kernel],
    launches: [
      {
        kernel: 0,
        buffers: kernel.params.map((_, i) => i),
        scalars: kernel.scalars.map((_, i) => i),
      },
    ],
    arenaBytes: 0,
  };
}
