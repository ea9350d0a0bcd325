/**
 * @file Code that takes an `Optimizer` or an `LBFGS` (ADR 65).
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { Parameter, lrScheduler, optim } from '../src/index.js';

/** What a training loop does with either. */
function train(optimizer: optim.Optimizer | optim.LBFGS, loss: () => Tensor): void {
  const schedule = new lrScheduler.StepLR(optimizer, { stepSize: 100 });
  for (let i = 0; i < 20; i++) {
    optimizer.step(() => {
      optimizer.zeroGrad();
      const value = loss();
      value.backward();
      return value;
    });
    schedule.step();
  }
  expect(optimizer.paramGroups.length).toBe(1);
}

it.each([
  ['SGD', (params: Parameter[]) => new optim.SGD(params, { lr: 0.3 })],
  ['LBFGS', (params: Parameter[]) => new optim.LBFGS(params)],
])('a step with a closure, groups, gradients and schedules are those of both: %s', (_, make) => {
  const x = new Parameter(tensor([3, -2]));
  train(make([x]), () => x.sub(1).square().sum());
  expect(x.toArray()).toEqual([expect.closeTo(1, 3), expect.closeTo(1, 3)]);
});

it('a step without a closure is a type error of LBFGS, and an error: invalid-argument', () => {
  const optimizer = new optim.LBFGS([new Parameter(tensor([1]))]);
  // @ts-expect-error an LBFGS evaluates the loss several times
  expect(() => optimizer.step()).toThrow('LBFGS.step() needs a closure.');
});
