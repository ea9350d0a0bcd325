import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compileToExecutable } from '../src/index.js';
import { interpreterBackend } from './interpreter-backend.js';
import { Dice, randomGraph } from './random-graph.js';

/** Compares a compiled random graph with the same graph run operator by operator. */
function check(
  seed: number,
  length: number,
  overrides: Parameters<typeof interpreterBackend>[0],
): void {
  const { module, inputs } = randomGraph(new Dice(seed), length);
  const [eagerInputs, compiledInputs] = [inputs(), inputs()];
  const expected = module.forward(...eagerInputs) as unknown[];
  const compiled = compileToExecutable(module, interpreterBackend(overrides), {
    name: `seed${seed}`,
  });
  const limit = overrides?.maxBuffersPerKernel ?? 64;
  for (const { name, params } of compiled.plan.kernels) {
    if (params.length > limit)
      throw new Error(`seed ${seed}: ${name} has ${params.length} buffers`);
  }
  const actual = compiled(compiledInputs);
  const pairs = [
    ...expected.map((e, i) => [actual[i], e]),
    ...eagerInputs.map((e, i) => [compiledInputs[i], e]),
  ] as [never, never][];
  pairs.forEach(([a, e], i) => {
    const got = readNumbers(a);
    readNumbers(e).forEach((want, at) => {
      const close =
        Object.is(got[at], want) || Math.abs(got[at]! - want) <= 1e-4 + 1e-4 * Math.abs(want);
      if (!close)
        throw new Error(
          `seed ${seed}: value ${i}[${at}] is ${got[at]}, eager gives ${want}\n${module.print()}\n${compiled.executable.sources.map((s) => s.text).join('\n')}`,
        );
    });
  });
}

const BASE = Number(process.env.TESSERA_FUZZ_SEED ?? 1);
const ROUNDS = Number(process.env.TESSERA_FUZZ_ROUNDS ?? 120);

describe(`random graphs (TESSERA_FUZZ_SEED=${BASE})`, () => {
  it('compute what eager computes', () => {
    for (let i = 0; i < ROUNDS; i++) check(BASE + i, 4 + (i % 24), {});
    expect(ROUNDS).toBeGreaterThan(0);
  });

  it('compute what eager computes with few buffers per kernel', () => {
    for (let i = 0; i < ROUNDS / 2; i++)
      check(BASE + 10_000 + i, 8 + (i % 24), { maxBuffersPerKernel: 8 });
    expect(ROUNDS).toBeGreaterThan(0);
  });

  it('compute what eager computes with reductions split', () => {
    for (let i = 0; i < ROUNDS / 2; i++)
      check(BASE + 20_000 + i, 4 + (i % 24), { parallelism: 16, splitReductionThreshold: 2 });
    expect(ROUNDS).toBeGreaterThan(0);
  });
});
