/**
 * @file Engine `ort-node`: ONNX Runtime as native code, what Node programs that need speed use today.
 */
import type { Engine, LoadedEngine, Unsupported } from '../harness/engine.js';
import { onnxEngine } from './onnx-runtime.js';
import { packageVersion } from './package-version.js';

/** @see https://onnxruntime.ai/docs/get-started/with-javascript/node.html */
export const ortNode: Engine = {
  name: 'ort-node',
  about: 'ONNX Runtime, native code (its AVX kernels) and threads',
  async load({ device, threads }): Promise<LoadedEngine | Unsupported> {
    if (device !== 'cpu') return { unsupported: 'runs on the CPU only here' };
    const ort = await import('onnxruntime-node');
    return onnxEngine(
      ort,
      { versions: { 'onnxruntime-node': packageVersion('onnxruntime-node') }, threads },
      { executionProviders: ['cpu'], intraOpNumThreads: threads, interOpNumThreads: 1 },
    );
  },
};
