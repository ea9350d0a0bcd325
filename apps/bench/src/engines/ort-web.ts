/**
 * @file Engine `ort-web`: ONNX Runtime compiled to WebAssembly, with SIMD and threads.
 */
import type { Engine, LoadedEngine, Unsupported } from '../harness/engine.js';
import { OnnxGraph } from '../onnx/onnx-graph.js';
import { onnxEngine } from './onnx-runtime.js';
import { packageVersion } from './package-version.js';

/** A model that does nothing. */
function identity(): Uint8Array {
  const graph = new OnnxGraph();
  return graph.output(graph.node('Identity', [graph.input('x0', [1])], {}, 'y'), [1]).toBytes();
}

/**
 * The first session starts the module and its threads, for which it defines a global `Worker`; jax-js
 * takes one for a sign of threads, and fails. So both are settled when the engine is loaded.
 */
async function startRuntime(firstSession: () => Promise<unknown>): Promise<void> {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'Worker');
  await firstSession();
  if (before !== undefined) Object.defineProperty(globalThis, 'Worker', before);
  else Reflect.deleteProperty(globalThis, 'Worker');
}

/** @see https://onnxruntime.ai/docs/tutorials/web */
export const ortWeb: Engine = {
  name: 'ort-web',
  about: 'ONNX Runtime Web, WebAssembly SIMD and threads',
  async load({ device, threads }): Promise<LoadedEngine | Unsupported> {
    if (device !== 'cpu') return { unsupported: 'no WebGPU in Node' };
    const ort = await import('onnxruntime-web');
    ort.env.wasm.numThreads = threads;
    await startRuntime(() => ort.InferenceSession.create(identity()));
    return onnxEngine(
      ort,
      { versions: { 'onnxruntime-web': packageVersion('onnxruntime-web') }, threads },
      { executionProviders: ['wasm'] },
    );
  },
};
