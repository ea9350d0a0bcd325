/**
 * @file The page of the browser test: runs kernels on navigator.gpu and leaves what it saw in a global.
 */
import { interpretKernel, type FusedKernel } from '@tessera/inductor-core';
import { initWebGpu, type WebGpu } from '../../src/index.js';
import { matmulData, matmulKernel } from './matmul-kernel.js';
import { deviceTensor, readTensor, singlePlan } from './plans.js';
import { softmax, wave, zeros } from './sample-kernels.js';

/** What the page found. */
export interface BrowserResult {
  error: string;
  adapterName: string;
  /** Largest absolute differences from the interpreter. */
  softmaxError: number;
  matmulError: number;
  /** Message for a kernel that does not compile. */
  badKernel: string;
}

async function largestError(
  gpu: WebGpu,
  kernel: FusedKernel,
  data: Record<string, number[]>,
  output: string,
): Promise<number> {
  const executable = gpu.backend.load(singlePlan(kernel, (name) => data[name].length));
  const tensors = kernel.params.map((param) => deviceTensor(gpu, param.dtype, data[param.name]));
  executable.run(tensors, [], []);
  const actual = await readTensor(
    gpu,
    tensors[kernel.params.findIndex((param) => param.name === output)],
  );
  interpretKernel(kernel, data);
  return Math.max(...actual.map((value, i) => Math.abs(value - data[output][i])));
}

async function main(result: BrowserResult): Promise<void> {
  const gpu = await initWebGpu();
  result.adapterName = gpu.adapterName;
  result.softmaxError = await largestError(
    gpu,
    softmax(8, 300),
    { x: wave(2400), out: zeros(2400) },
    'out',
  );
  const spec = { m: 33, n: 20, k: 50, biasRelu: true };
  result.matmulError = await largestError(gpu, matmulKernel(spec), matmulData(spec), 'out');
  gpu.runtime.pipelines.get(
    { text: 'fn main() {}', workgroups: [1, 1], slots: [], uniforms: [], checks: [] },
    'broken',
  );
  result.badKernel = await gpu.synchronize().then(
    () => 'nothing was reported',
    (error: unknown) => String(error),
  );
}

const result: BrowserResult = {
  error: '',
  adapterName: '',
  softmaxError: NaN,
  matmulError: NaN,
  badKernel: '',
};
main(result)
  .catch(
    (error: unknown) =>
      (result.error = error instanceof Error ? (error.stack ?? error.message) : String(error)),
  )
  .finally(() => Object.assign(globalThis, { tesseraResult: result }));
