/**
 * @file What a user waits for at the start, counted in functions: those of a first call, which the engine compiles for it,
 * and those of the calls that follow, which are to be those of any later call.
 */
import { type Backend, compile } from '@tessera/compile';
import type { Module } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randint, randn, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { Gpt2, ResNet18 } from '../src/tracer/networks.js';
import { type CallCounts, FunctionCalls } from './function-calls.js';

/** Most that a tiny function's first call may need; counted were 1,430 functions (the engine counts a few more now and then) and some 7,200 calls. */
const MOST = { functions: 1440, calls: 7400 };

it('the first call of a tiny function needs few functions', () => {
  const compiled = compile((x: Tensor) => x.mul(2).add(1));
  const input = tensor([1, 2, 3, 4]);
  const counter = new FunctionCalls();
  let result: unknown;
  const { functions, calls } = counter.during(() => (result = compiled(input).toArray()));
  counter.end();
  expect(result).toEqual([3, 5, 7, 9]);
  expect(functions).toBeLessThanOrEqual(MOST.functions);
  expect(calls).toBeLessThanOrEqual(MOST.calls);
});

const constant: Backend = (module, examples) => {
  const outs = module.forward(...examples) as Tensor[];
  return () => outs;
};

/** What each of the calls of a model calls, its first one left out. */
function laterCalls(model: Module, input: Tensor, calls: number): CallCounts[] {
  model.eval();
  const compiled = compile(
    (x: Tensor) => (model as unknown as { call(x: Tensor): Tensor }).call(x),
    { backend: constant },
  );
  return noGrad(() => {
    // Functions are counted that the engine compiled since.
    const counter = new FunctionCalls();
    compiled(input);
    const counts = Array.from({ length: calls }, () => counter.during(() => void compiled(input)));
    counter.end();
    return counts;
  });
}

it.each([
  ['ResNet-18', 1720, () => ({ model: new ResNet18(4), input: randn([1, 3, 32, 32]) })],
  ['GPT-2', 3520, () => ({ model: new Gpt2(12, 16, 2, 64), input: randint(0, 64, [1, 8]) })],
])('call 2 of %s calls the functions of call 20, as often', (_name, most, make) => {
  manualSeed(0);
  const { model, input } = make();
  const counts = laterCalls(model, input, 19);
  const last = counts.at(-1)!;
  expect(counts[0]!.of).toEqual(last.of);
  expect(last.calls).toBeGreaterThan(0);
  expect(last.calls).toBeLessThanOrEqual(most);
});
