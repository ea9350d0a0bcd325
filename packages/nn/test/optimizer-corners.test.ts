/**
 * @file Corners of optimizers as PyTorch 2.13 has them: parameters of several ranks, decoupled decay, what is refused.
 */
import { describe, expect, it } from 'vitest';
import { tensor } from '@tessera/tensor';
import { Parameter, optim } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

describe('Adafactor', () => {
  it('updates matrices, vectors and numbers of one group', () => {
    const matrix = new Parameter(
      tensor([
        [1, -2],
        [3, 4],
      ]),
    );
    const vector = new Parameter(tensor([0.5, -1]));
    const number = new Parameter(tensor(2));
    const optimizer = new optim.Adafactor([matrix, vector, number], { lr: 0.1 });
    for (let step = 0; step < 2; step++) {
      matrix.grad = tensor([
        [1, 2],
        [-3, 4],
      ]);
      vector.grad = tensor([1, 2]);
      number.grad = tensor(-1);
      optimizer.step();
    }
    const values = [matrix, vector, number].map((param) => param.detach().reshape([-1]).toArray());
    [0.57353854, -2.60310745, 3.5721581, 3.46056413, 0.33904198, -1.16095805, 2.42].forEach(
      (expected, i) => expect((values.flat() as number[])[i]).toBeCloseTo(expected, 5),
    );
    expect(Object.values(optimizer.stateDict().state).map(Object.keys)).toEqual([
      ['step', 'row_var', 'col_var'],
      ['step', 'variance'],
      ['step', 'variance'],
    ]);
  });
});

describe('Adam', () => {
  it('decays apart from the gradient with decoupledWeightDecay', () => {
    const param = new Parameter(tensor([1, -2]));
    param.grad = tensor([1, 1]);
    const options = { lr: 0.1, weightDecay: 0.5, decoupledWeightDecay: true };
    new optim.Adam([param], options).step();
    const [first, second] = param.detach().toArray() as number[];
    expect(first).toBeCloseTo(0.85, 6);
    expect(second).toBeCloseTo(-2, 6);
    expect(new optim.AdamW([param]).paramGroups[0]!.decoupledWeightDecay).toBe(true);
  });
});

describe('LBFGS', () => {
  const param = (): Parameter => new Parameter(tensor([1, -2]));

  it('takes its options from a group', () => {
    const [group] = new optim.LBFGS([{ params: [param()], lr: 0.3, maxIter: 8 }]).paramGroups;
    expect(group).toMatchObject({ lr: 0.3, maxIter: 8, maxEval: 10, historySize: 100 });
  });

  it.each([
    ['a tensor', () => new optim.LBFGS(param() as never)],
    ['two groups', () => new optim.LBFGS([{ params: [param()] }, { params: [param()] }])],
    ['an option that it does not have', () => new optim.LBFGS([param()], { momentum: 1 } as never)],
  ])('refuses %s', (_name, make) => {
    expect(thrownBy(make)).toMatchObject({ code: 'invalid-argument' });
  });
});
