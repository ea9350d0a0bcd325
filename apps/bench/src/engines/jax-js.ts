/**
 * @file Engine `jax-js`: `jit` on its WebAssembly device.
 *
 * jax-js defers work until a value is needed, so every run waits for its results. Arrays are passed by
 * ownership: `.ref` keeps one.
 */
import type * as Jax from '@jax-js/jax';
import type { Engine, LoadedEngine, Prepared, Unsupported } from '../harness/engine.js';
import type { HostArray } from '../harness/host-array.js';
import { pickRanges } from '../harness/ranges.js';
import type { FunctionProgram, JaxStepProgram } from '../harness/workload.js';
import { packageVersion } from './package-version.js';

type Jit = typeof Jax;
type Arr = Jax.Array;

/** Up to this many elements a copy out is cheaper than a promise. */
const COPY_OUT = 1024;

function upload(jax: Jit, { data, shape }: HostArray): Arr {
  return jax.numpy.array(data as Float32Array<ArrayBuffer>).reshape([...shape]);
}

/** Waits for an array and gives it up. */
function settle(array: Arr, size: number): void | Promise<void> {
  if (size > COPY_OUT) return array.blockUntilReady().then((ready) => ready.dispose());
  array.dataSync();
}

function prepareFunction(
  jax: Jit,
  program: FunctionProgram<Jit, Arr>,
  hosts: readonly HostArray[],
  size: number,
): Prepared {
  const inputs = hosts.map((host) => upload(jax, host));
  const [a, b, c] = inputs as [Arr, Arr, Arr];
  const fn = program.make(jax);
  let jitted: ((...args: Arr[]) => Arr) & { dispose(): void };
  const call = (): Arr => {
    if (inputs.length === 1) return jitted(a.ref);
    if (inputs.length === 2) return jitted(a.ref, b.ref);
    return jitted(a.ref, b.ref, c.ref);
  };
  const run = (): void | Promise<void> => settle(call(), size);
  return {
    first() {
      jitted = jax.jit(fn) as typeof jitted;
      return run();
    },
    run,
    async result(ranges) {
      const whole = (await call().data()) as Float32Array;
      return ranges === null ? whole : pickRanges(whole, ranges);
    },
    dispose() {
      jitted?.dispose();
      for (const input of inputs) input.dispose();
    },
  };
}

function prepareStep(jax: Jit, program: JaxStepProgram): Prepared {
  const inputs = program.inputs.map((host) => upload(jax, host));
  let state = program.state.map((host) => upload(jax, host));
  let loss: Arr | null = null;
  const fn = program.make(jax);
  let jitted: typeof fn & { dispose(): void };
  const run = async (): Promise<void> => {
    loss?.dispose();
    const [nextLoss, nextState] = jitted(state, ...inputs.map((input) => input.ref));
    loss = nextLoss;
    state = nextState;
    await jax.blockUntilReady([loss, ...state]);
  };
  return {
    first() {
      jitted = jax.jit(fn as never) as never;
      return run();
    },
    run,
    async result(ranges) {
      const read = (array: Arr): Promise<Float32Array> => array.ref.data() as Promise<Float32Array>;
      const whole = program.toResult(await read(loss!), await Promise.all(state.map(read)));
      return ranges === null ? whole : pickRanges(whole, ranges);
    },
    dispose() {
      jitted?.dispose();
      for (const array of [...inputs, ...state]) array.dispose();
      loss?.dispose();
    },
  };
}

/** @see https://github.com/ekzhang/jax-js */
export const jaxJs: Engine = {
  name: 'jax-js',
  about: 'jax-js with jit, WebAssembly (one thread in Node)',
  async load({ device }): Promise<LoadedEngine | Unsupported> {
    if (device !== 'cpu') return { unsupported: 'no WebGPU in Node' };
    const jax = await import('@jax-js/jax');
    await jax.init('wasm');
    jax.defaultDevice('wasm');
    return {
      versions: { '@jax-js/jax': packageVersion('@jax-js/jax') },
      threads: 1,
      async prepare(_workload, instance) {
        const { jax: program } = instance.programs;
        if (program === undefined) return { unsupported: 'not written for it' };
        return program.kind === 'step'
          ? prepareStep(jax, program)
          : prepareFunction(jax, program, instance.inputs, instance.resultSize);
      },
    };
  },
};
