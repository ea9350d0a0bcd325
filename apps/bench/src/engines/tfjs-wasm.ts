/**
 * @file Engine `tfjs-wasm`: TensorFlow.js on its WebAssembly backend, with SIMD.
 *
 * In Node the backend does not use threads: it asks for cross-origin isolation, which a browser has.
 * The library's entry for Node leaves out the gradients, and Node cannot load them from the package (ES
 * modules without extensions): the build takes that one import into the program. They register with the
 * library by way of its global registry.
 */
import { dirname } from 'node:path';
import { createRequire } from 'node:module';
import type * as Tfjs from '@tensorflow/tfjs-core';
import type { Engine, LoadedEngine, Prepared, Unsupported } from '../harness/engine.js';
import type { HostArray } from '../harness/host-array.js';
import { pickRanges } from '../harness/ranges.js';
import type { FunctionProgram, TfjsStepProgram } from '../harness/workload.js';

type Tf = typeof Tfjs;

function upload(tf: Tf, { dtype, data, shape }: HostArray): Tfjs.Tensor {
  return tf.tensor(data, [...shape], dtype === 'float32' ? 'float32' : 'int32');
}

function prepareFunction(
  tf: Tf,
  program: FunctionProgram<Tf, Tfjs.Tensor>,
  hosts: readonly HostArray[],
): Prepared {
  const inputs = hosts.map((host) => upload(tf, host));
  const fn = program.make(tf);
  const call = (): Tfjs.Tensor => tf.tidy(() => fn(...inputs));
  const run = (): void => call().dispose();
  return {
    first: run,
    run,
    async result(ranges) {
      const output = call();
      const whole = output.dataSync<'float32'>().slice();
      output.dispose();
      return ranges === null ? whole : pickRanges(whole, ranges);
    },
    dispose() {
      tf.dispose(inputs);
    },
  };
}

function prepareStep(tf: Tf, program: TfjsStepProgram): Prepared {
  const inputs = program.inputs.map((host) => upload(tf, host));
  const state = program.state.map((host) => tf.variable(upload(tf, host)));
  const step = program.make(tf);
  let loss: Tfjs.Scalar | null = null;
  const run = (): void => {
    loss?.dispose();
    loss = tf.tidy(() => step(state, ...inputs));
  };
  return {
    first: run,
    run,
    async result(ranges) {
      const values = state.map((variable) => variable.dataSync<'float32'>());
      const whole = program.toResult(loss!.dataSync<'float32'>(), values);
      return ranges === null ? whole : pickRanges(whole, ranges);
    },
    dispose() {
      tf.dispose([...inputs, ...state]);
      loss?.dispose();
    },
  };
}

/** A CommonJS package as `import()` gives it: its names, some of them only under `default`. */
function named<M extends object>(module: M): M {
  return (module as { default?: M }).default ?? module;
}

/** @see https://github.com/tensorflow/tfjs */
export const tfjsWasm: Engine = {
  name: 'tfjs-wasm',
  about: 'TensorFlow.js, WebAssembly SIMD (one thread in Node)',
  async load({ device }): Promise<LoadedEngine | Unsupported> {
    if (device !== 'cpu') return { unsupported: 'runs on the CPU only' };
    const tf = named(await import('@tensorflow/tfjs-core'));
    const backend = named(await import('@tensorflow/tfjs-backend-wasm'));
    await import('@tensorflow/tfjs-core/dist/register_all_gradients');
    const require = createRequire(import.meta.url);
    backend.setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
    await tf.setBackend('wasm');
    await tf.ready();
    return {
      versions: {
        '@tensorflow/tfjs-core': tf.version_core,
        '@tensorflow/tfjs-backend-wasm': backend.version_wasm,
      },
      threads: backend.getThreadsCount(),
      async prepare(_workload, instance) {
        const { tfjs: program } = instance.programs;
        if (program === undefined) return { unsupported: 'not written for it' };
        return program.kind === 'step'
          ? prepareStep(tf, program)
          : prepareFunction(tf, program, instance.inputs);
      },
    };
  },
};
