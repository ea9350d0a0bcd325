/** @file Learning rates and betas that are tensors: what PyTorch does with them, eager and compiled. */
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

describe('betas that are tensors', () => {
  // Of PyTorch 2.13, with betas of float64 tensors.
  it.each([
    ['Adam', optim.Adam, [0.7414507269859314, -1.7468563318252563, 2.7133028507232666]],
    ['AdamW', optim.AdamW, [0.7387251257896423, -1.74119234085083, 2.7045886516571045]],
    ['NAdam', optim.NAdam, [0.766718327999115, -1.8150041103363037, 2.685758352279663]],
    ['RAdam', optim.RAdam, [0.0932604968547821, 0.7723133563995361, 2.0382513999938965]],
    ['Adamax', optim.Adamax, [0.7899167537689209, -1.7911953926086426, 2.751459836959839]],
  ] as const)('are read by every step: %s', (_name, Class, want) => {
    for (const compiled of [false, true]) {
      const param = new Parameter(tensor([1, -2, 3]));
      const [first, second] = [0.8, 0.95].map((beta) => tensor(beta, { dtype: 'float64' }));
      const optimizer = new Class([param], { lr: 0.1, betas: [first!, second!] });
      const step = (x: Tensor): void => {
        optimizer.zeroGrad();
        param.mul(x).square().sum().backward();
        optimizer.step();
      };
      const { call, graphs } = compileForTest(step);
      const inputs = [
        [1, 2, 0.5],
        [2, -1, 1],
        [0, 1, 1],
      ].map((values) => tensor(values));
      for (const x of inputs)
        if (compiled) call(x);
        else step(x);
      (param.toArray() as number[]).forEach((value, i) => expect(value).toBeCloseTo(want[i]!, 5));
      expect(graphs.length).toBeLessThan(6);
      noGrad(() => first!.fill_(0.5));
      expect(optimizer.paramGroups[0]!.betas).toEqual([0.5, 0.95]);
    }
  });

  it('are numbers for schedulers and state dicts', () => {
    const beta = tensor(0.75);
    const adam = new optim.Adam([new Parameter(ones([1]))], { betas: [beta, 0.5] });
    adam.paramGroups[0]!.betas = [0.25, 0.125];
    expect(beta.item()).toBe(0.25);
    expect(adam.stateDict().paramGroups[0]!['betas']).toEqual([0.25, 0.125]);
    adam.loadStateDict(adam.stateDict());
    noGrad(() => beta.fill_(0.5));
    expect(adam.paramGroups[0]!.betas).toEqual([0.5, 0.125]);
  });

  it('have one element and are below 1', () => {
    const param = new Parameter(ones([1]));
    expect(() => new optim.Adam([param], { betas: [ones([2]), 0.9] })).toThrow(
      'Tensor betas must be 1-element',
    );
    expect(() => new optim.Adam([param], { betas: [tensor(2), 0.9] })).toThrow(
      'Invalid betas value: [2, 0.9]',
    );
  });
});
