/**
 * @file `zeroGrad()` between the forward pass and `backward()`, as most PyTorch programs have it: every gradient that is
 * dropped is asked whether what is recorded so far reads it.
 */
import { Parameter, optim } from '@tessera/nn';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';

it('costs what it costs before the forward pass', () => {
  manualSeed(0);
  const parameters = Array.from({ length: 60 }, () => new Parameter(randn([2])));
  const optimizer = new optim.SGD(parameters, { lr: 1e-6 });
  const step = (isLate: boolean): ((x: Tensor) => void) =>
    compile((x: Tensor) => {
      if (!isLate) optimizer.zeroGrad();
      let y = x;
      for (let k = 0; k < 10; k++) for (const p of parameters) y = y.mul(0.5).add(p);
      const loss = y.mean();
      if (isLate) optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
    });
  const programs = [step(false), step(true)];
  const least = [Infinity, Infinity];
  const x = randn([2]);
  // The fastest of many, in turns: other work on the machine makes calls slower, not faster.
  for (let i = 0; i < 40; i++)
    programs.forEach((program, k) => {
      const start = performance.now();
      program(x);
      least[k] = Math.min(least[k]!, performance.now() - start);
    });
  expect(least[1]! / least[0]!, least.join(' and ')).toBeLessThan(3);
});
