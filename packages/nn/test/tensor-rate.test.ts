/** @file Learning rates that are tensors: what PyTorch does with them, eager and compiled. */
import { type Tensor, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Parameter, lrScheduler, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

type Made = new (params: Parameter[], options: { lr: number | Tensor }) => optim.Optimizer;
const OPTIMIZERS: readonly Made[] = [
  optim.SGD,
  optim.Adam,
  optim.AdamW,
  optim.RMSprop,
  optim.Adagrad,
  optim.Adafactor,
];

/** What a parameter is after steps with these rates. */
function train(
  Class: Made,
  rates: readonly number[],
  asTensor: boolean,
  compiled: boolean,
): Tensor {
  const param = new Parameter(tensor([1, -2, 3]));
  const lr = asTensor ? tensor(rates[0]!, { dtype: 'float64' }) : rates[0]!;
  const optimizer = new Class([param], { lr });
  const step = (x: Tensor): void => {
    optimizer.zeroGrad();
    param.mul(x).square().sum().backward();
    optimizer.step();
  };
  const { call, graphs } = compileForTest(step);
  for (const rate of rates) {
    if (typeof lr === 'number') optimizer.paramGroups[0]!.lr = rate;
    else noGrad(() => lr.fill_(rate));
    if (compiled) call(tensor([1, 2, 0.5]));
    else step(tensor([1, 2, 0.5]));
  }
  // Reading the rate breaks the graph; a new rate makes no new one.
  expect(graphs.length).toBeLessThan(4);
  return param.detach();
}

describe('a learning rate that is a tensor', () => {
  const rates = [0.1, 0.1, 0.05, 0.02, 0.01];
  it.each(OPTIMIZERS.map((Class) => [Class.name, Class] as const))(
    'is read by every step: %s',
    (_name, Class) => {
      const expected = train(Class, rates, false, false);
      expect(train(Class, rates, true, false).toArray()).toEqual(expected.toArray());
      expect(train(Class, rates, true, true).allclose(expected)).toBe(true);
    },
  );

  it('may change inside a compiled function', () => {
    const param = new Parameter(tensor([1]));
    const lr = tensor(0.5);
    const optimizer = new optim.SGD([param], { lr });
    const { call } = compileForTest((x: Tensor) => {
      optimizer.zeroGrad();
      param.mul(x).sum().backward();
      noGrad(() => lr.mul_(0.5));
      optimizer.step();
    });
    for (let i = 0; i < 3; i++) call(ones([1]));
    expect(param.item()).toBe(1 - 0.25 - 0.125 - 0.0625);
    expect(lr.item()).toBe(0.0625);
  });

  it('is filled by schedulers', () => {
    const lr = tensor(1);
    const optimizer = new optim.SGD([new Parameter(ones([1]))], { lr });
    const scheduler = new lrScheduler.ExponentialLR(optimizer, { gamma: 0.5 });
    optimizer.step();
    scheduler.step();
    expect([lr.item(), optimizer.paramGroups[0]!.lr, scheduler.getLastLr()]).toEqual([
      0.5,
      0.5,
      [0.5],
    ]);
  });

  it('of one group leaves the others alone', () => {
    const [a, b] = [new Parameter(ones([1])), new Parameter(ones([1]))];
    const lr = tensor([0.25]);
    const optimizer = new optim.SGD([{ params: [a], lr }, { params: [b] }], { lr: 0.5 });
    a.add(b).sum().backward();
    optimizer.step();
    expect([a.item(), b.item()]).toEqual([0.75, 0.5]);
    expect(optimizer.stateDict().paramGroups.map((group) => group.lr)).toEqual([0.25, 0.5]);
  });

  it('has one element', () => {
    expect(() => new optim.SGD([new Parameter(ones([1]))], { lr: ones([2]) })).toThrow(
      'Tensor lr must be 1-element',
    );
    expect(() => new optim.LBFGS([new Parameter(ones([1]))], { lr: ones([2]) })).toThrow(
      'Tensor lr must be 1-element',
    );
    expect(() => new optim.SGD([new Parameter(ones([1]))], { lr: tensor(-1) })).toThrow(
      'Invalid lr value: -1',
    );
  });
});
