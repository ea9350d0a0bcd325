/**
 * @file `config.maxAutotune`: what a backend has measured takes effect in plans that run already.
 */
import { config } from '@tessera/shared';
import { type Tensor, fromTypedArray } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type CompiledGraph, type KernelBackend, compileToExecutable } from '../src/index.js';
import { GraphBuilder } from './graph-builder.js';
import { interpreterBackend } from './interpreter-backend.js';

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Counts loads and runs per load, and measures when told to. */
function tunable(): {
  readonly backend: KernelBackend;
  readonly runs: number[];
  readonly disposed: number[];
  measured(outcome: boolean | Error): Promise<void>;
} {
  const runs: number[] = [];
  const disposed: number[] = [];
  let settle: (outcome: boolean | Error) => void = () => undefined;
  const inner = interpreterBackend();
  const backend: KernelBackend = {
    ...inner,
    load(plan) {
      const executable = inner.load(plan);
      const index = runs.push(0) - 1;
      return {
        plan,
        sources: executable.sources,
        run: (...args) => {
          runs[index]!++;
          executable.run(...args);
        },
        dispose: () => void disposed.push(index),
      };
    },
    tune: () =>
      new Promise((resolve, reject) => {
        settle = (outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome));
      }),
  };
  const measured = (outcome: boolean | Error): Promise<void> => (settle(outcome), tick());
  return { backend, runs, disposed, measured };
}

function compiled(backend: KernelBackend): CompiledGraph {
  const b = new GraphBuilder();
  const x = b.input([3]);
  return compileToExecutable(b.done(b.op('mul.Tensor', x, x)), backend);
}

function expectSquares(call: CompiledGraph): void {
  const [out] = call([fromTypedArray(Float32Array.from([1, 2, 3]), [3])]);
  expect(Array.from(readNumbers(out as Tensor))).toEqual([1, 4, 9]);
}

describe('maxAutotune', () => {
  it('runs at once, and with other code when the measurement found faster', async () => {
    const { backend, runs, disposed, measured } = tunable();
    const call = config.patch({ maxAutotune: true }, () => compiled(backend));
    expectSquares(call);
    expect(runs).toEqual([1]);
    await measured(true);
    expectSquares(call);
    expect(runs).toEqual([1, 1]);
    expect(disposed).toEqual([0]);
    call.dispose();
    expect(disposed).toEqual([0, 1]);
  });

  it.each([false, new Error('device lost')])('keeps its code after %s', async (outcome) => {
    const { backend, runs, measured } = tunable();
    const call = config.patch({ maxAutotune: true }, () => compiled(backend));
    await measured(outcome);
    expectSquares(call);
    expect(runs).toEqual([1]);
  });

  it('does not load again what was disposed meanwhile', async () => {
    const { backend, runs, disposed, measured } = tunable();
    config.patch({ maxAutotune: true }, () => compiled(backend)).dispose();
    await measured(true);
    expect([runs, disposed]).toEqual([[0], [0]]);
  });

  it('is off by default', () => {
    const { backend, runs } = tunable();
    expectSquares(compiled({ ...backend, tune: () => expect.fail('measured') }));
    expect(runs).toEqual([1]);
  });
});
