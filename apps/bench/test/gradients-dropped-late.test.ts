/**
 * @file `zeroGrad()` between the forward pass and `backward()`, as most PyTorch programs have it: every gradient that is
 * dropped is asked whether what is recorded so far reads it. Counted in calls of functions.
 */
import { compile } from '@tessera/compile';
import { Parameter, optim } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { FunctionCalls } from './function-calls.js';

/** What a repeated training step calls. */
function callsOf(isLate: boolean): number {
  manualSeed(0);
  const parameters = Array.from({ length: 30 }, () => new Parameter(randn([2])));
  const optimizer = new optim.SGD(parameters, { lr: 1e-6 });
  const step = compile((x: Tensor) => {
    if (!isLate) optimizer.zeroGrad();
    let y = x;
    for (let k = 0; k < 10; k++) for (const p of parameters) y = y.mul(0.5).add(p);
    const loss = y.mean();
    if (isLate) optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
  });
  const x = randn([2]);
  for (let i = 0; i < 5; i++) step(x);
  const counter = new FunctionCalls();
  step(x);
  const { calls } = counter.during(() => step(x));
  counter.end();
  return calls;
}

it('calls what it calls before the forward pass', () => {
  const early = callsOf(false);
  expect(early).toBeGreaterThan(0);
  expect(callsOf(true)).toBeLessThan(1.1 * early);
});
