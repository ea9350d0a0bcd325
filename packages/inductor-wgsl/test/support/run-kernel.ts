/**
 * @file Runs one kernel on the device and by the reference interpreter, and compares.
 */
import { interpretKernel, verifyKernel, type ExecutionPlan, type FusedKernel } from '@tessera/inductor-core';
import { itemSize, makeTensor, numberToBfloat, bfloatToNumber, halfToNumber, numberToHalf, Storage, type DType, type Tensor } from '@tessera/tensor';
import { expect } from 'vitest';
import type { WebGpu } from '../../src/index.js';
import { hostBytes } from '../../src/runtime/host-bytes.js';

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
  return hostNumbers(tensor.dtype, await gpu.runtime.download(tensor.storage.memory!, tensor.storageOffset, tensor.dtype, count));
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
    launches: [{ kernel: 0, buffers: kernel.params.map((_, i) => i), scalars: kernel.scalars.map((_, i) => i) }],
    arenaBytes: 0,
  };
}

/** What a buffer of this dtype keeps of a number. */
export function rounded(dtype: DType, value: number): number {
  if (dtype === 'float32') return Math.fround(value);
  if (dtype === 'float16') return halfToNumber(numberToHalf(value));
  if (dtype === 'bfloat16') return bfloatToNumber(numberToBfloat(value));
  return value;
}

/** Relative tolerances of PyTorch's `assert_close`; absolute in `atol`. */
const RTOL: Partial<Record<DType, number>> = { float32: 2e-6, float16: 1e-3, bfloat16: 1.6e-2 };

/** Fails when some element differs by more than the dtype allows. */
export function expectClose(actual: readonly number[], wanted: readonly number[], dtype: DType, what: string, scale = 1): void {
  expect(actual.length, what).toBe(wanted.length);
  const rtol = (RTOL[dtype] ?? 0) * scale;
  const wrong: string[] = [];
  for (const [i, a] of actual.entries()) {
    const w = wanted[i];
    if (Object.is(a, w) || a === w || (Number.isNaN(a) && Number.isNaN(w))) continue;
    if (Math.abs(a - w) <= rtol * Math.abs(w) + (rtol > 0 ? 1e-6 * scale : 0)) continue;
    wrong.push(`[${i}] ${a} instead of ${w}`);
  }
  if (wrong.length > 0) expect.fail(`${what}: ${wrong.length} of ${actual.length} elements differ: ${wrong.slice(0, 5).join('; ')}`);
}

/** Runs a kernel on the device; gives the final content of every parameter. */
export async function runOnDevice(
  gpu: WebGpu,
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
): Promise<Record<string, number[]>> {
  const executable = gpu.backend.load(singlePlan(kernel, (name) => buffers[name].length));
  const tensors = kernel.params.map((param) => deviceTensor(gpu, param.dtype, buffers[param.name]));
  executable.run(tensors, [], scalars);
  const result: Record<string, number[]> = {};
  for (const [i, param] of kernel.params.entries()) result[param.name] = await readTensor(gpu, tensors[i]);
  for (const tensor of tensors) tensor.storage.release();
  executable.dispose();
  return result;
}

/** Runs a kernel by the interpreter. */
export function runReference(
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
): Record<string, number[]> {
  verifyKernel(kernel);
  const data: Record<string, number[]> = {};
  for (const param of kernel.params) data[param.name] = buffers[param.name].map((value) => rounded(param.dtype, value));
  interpretKernel(kernel, data, Object.fromEntries(kernel.scalars.map((scalar, i) => [scalar.name, scalars[i]])));
  for (const param of kernel.params) data[param.name] = data[param.name].map((value) => rounded(param.dtype, value));
  return data;
}

/** Runs a kernel both ways and compares every buffer. */
export async function compareKernel(
  gpu: WebGpu,
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
  scale = 1,
): Promise<void> {
  const wanted = runReference(kernel, buffers, scalars);
  const actual = await runOnDevice(gpu, kernel, buffers, scalars);
  for (const param of kernel.params) {
    expectClose(actual[param.name], wanted[param.name], param.dtype, `${kernel.name}: ${param.name}`, scale);
  }
}
