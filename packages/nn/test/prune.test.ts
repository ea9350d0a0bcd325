/**
 * @file Pruning: the masks that PyTorch 2.13 makes of the same weights, names in state dicts, gradients, and copies.
 */
import { type Tensor, arange, noGrad, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Linear, Sequential, cloneModule, optim, parametrize, prune } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

/** sin(2.3 (i + shift)) at position i. */
function made(shift = 0): Linear {
  const linear = new Linear(5, 4);
  const f32 = { dtype: 'float32' } as const;
  noGrad(() => {
    linear.weight.copy_(arange(20, f32).add(shift).mul(2.3).sin().view([4, 5]));
    linear.bias!.copy_(arange(4, f32).add(1));
  });
  return linear;
}

/** The mask of a parameter, a word per row. */
function mask(module: Linear, name = 'weight'): string {
  const rows = module.getBuffer(`${name}_mask`).toArray() as number[] | number[][];
  return rows.some(Array.isArray)
    ? (rows as number[][]).map((row) => row.join('')).join(' ')
    : rows.join('');
}

const CASES: readonly [name: string, expected: string, run: (m: Linear) => unknown][] = [
  ['a share', '01110 11011 10111 01110', (m) => prune.l1Unstructured(m, 'weight', 0.3)],
  ['a count', '01110 11001 10111 01110', (m) => prune.l1Unstructured(m, 'weight', 7)],
  ['half of one', '01111 11111 11111 01111', (m) => prune.l1Unstructured(m, 'weight', 0.125)],
  [
    'a share of what is left',
    '00100 11001 10010 00100',
    (m) => prune.l1Unstructured(prune.l1Unstructured(m, 'weight', 0.3), 'weight', 0.5),
  ],
  [
    'by other scores',
    '11111 11111 11111 10000',
    (m) =>
      prune.l1Unstructured(m, 'weight', 4, {
        importanceScores: arange(20, 0, -1, { dtype: 'float32' }).view([4, 5]),
      }),
  ],
  [
    'rows',
    '00000 11111 11111 00000',
    (m) => prune.lnStructured(m, 'weight', { amount: 0.5, n: 2, dim: 0 }),
  ],
  [
    'columns',
    '01110 01110 01110 01110',
    (m) => prune.lnStructured(m, 'weight', { amount: 2, n: 1 }),
  ],
  [
    'a column by its largest',
    '01111 01111 01111 01111',
    (m) => prune.lnStructured(m, 'weight', { amount: 1, n: Infinity, dim: 1 }),
  ],
  [
    'rows, then columns',
    '00000 01101 01101 01101',
    (m) => {
      prune.lnStructured(m, 'weight', { amount: 1, n: 2, dim: 0 });
      prune.lnStructured(m, 'weight', { amount: 0.4, n: 2, dim: 1 });
    },
  ],
  [
    'elements, then rows',
    '00000 11001 10011 00000',
    (m) => {
      prune.l1Unstructured(m, 'weight', 0.5);
      prune.lnStructured(m, 'weight', { amount: 2, n: 2, dim: 0 });
    },
  ],
  [
    'rows, then elements',
    '00000 11001 10111 00000',
    (m) => {
      prune.lnStructured(m, 'weight', { amount: 2, n: 2, dim: 0 });
      prune.l1Unstructured(m, 'weight', 0.3);
    },
  ],
  [
    'what a mask says',
    '01100 10010 10011 01100',
    (m) => {
      prune.l1Unstructured(m, 'weight', 0.3);
      prune.customFromMask(m, 'weight', arange(20).remainder(3).ne(0).view([4, 5]));
    },
  ],
  ['nothing', '11111 11111 11111 11111', (m) => prune.identity(m, 'weight')],
];

describe('pruning', () => {
  it.each(CASES)('of %s makes the mask of PyTorch', (_name, expected, run) => {
    const module = made();
    const before = module.weight.detach().clone();
    run(module);
    expect(mask(module)).toBe(expected);
    expect(module.weight.toArray()).toEqual(before.mul(module.getBuffer('weight_mask')).toArray());
  });

  it('of several parameters together', () => {
    const [a, b] = [made(), made(3.3)];
    prune.l1Unstructured(b, 'weight', 3);
    const parameters = [
      [a, 'weight'],
      [b, 'weight'],
      [a, 'bias'],
    ] as const;
    prune.globalUnstructured(parameters, prune.L1Unstructured, { amount: 0.4 });
    expect([mask(a), mask(b), mask(a, 'bias')]).toEqual([
      '01100 11001 10011 01100',
      '10011 00110 11001 10011',
      '1111',
    ]);
  });

  it('at random takes as many', () => {
    const [a, b] = [made(), made()];
    prune.randomUnstructured(a, 'weight', 0.3);
    expect(a.getBuffer('weight_mask').sum().item()).toBe(14);
    prune.randomStructured(b, 'weight', { amount: 3, dim: 1 });
    const columns = b.getBuffer('weight_mask').sum(0).toArray() as number[];
    expect(columns.sort()).toEqual([0, 0, 0, 4, 4]);
  });

  it('has the names of PyTorch, and can be made permanent', () => {
    const module = made();
    const { weight } = module;
    const whole = new Sequential(module);
    expect(prune.isPruned(whole)).toBe(false);
    prune.l1Unstructured(module, 'weight', 0.3);
    expect(Object.keys(module.stateDict())).toEqual(['bias', 'weight_orig', 'weight_mask']);
    expect(module.namedParameters().map(([name]) => name)).toEqual(['bias', 'weight_orig']);
    expect(prune.isPruned(whole)).toBe(true);
    expect(module.getParameter('weight_orig')).toBe(weight);
    const pruned = module.weight.toArray();
    prune.remove(module, 'weight');
    expect(Object.keys(module.stateDict())).toEqual(['bias', 'weight']);
    expect(prune.isPruned(whole)).toBe(false);
    expect(module.weight).toBe(weight);
    expect(module.weight.toArray()).toEqual(pruned);
    expect(module.call(ones([5])).sizes).toEqual([4]);
  });

  it('is loaded from the state dict of another', () => {
    const [a, b] = [made(), made(1)];
    prune.l1Unstructured(a, 'weight', 0.5);
    prune.identity(b, 'weight');
    b.loadStateDict(a.stateDict());
    expect(b.weight.toArray()).toEqual(a.weight.toArray());
  });

  it('trains what is left, also compiled', () => {
    const train = (compiled: boolean): Tensor => {
      const module = made();
      prune.l1Unstructured(module, 'weight', 0.3);
      const optimizer = new optim.SGD(module.parameters(), { lr: 0.1 });
      const step = (x: Tensor): Tensor => {
        optimizer.zeroGrad();
        const loss = module.call(x).square().sum();
        loss.backward();
        optimizer.step();
        return loss;
      };
      const run = compiled ? compileForTest(step).call : step;
      for (let i = 0; i < 3; i++) run(ones([2, 5]));
      const zeros = module.getParameter('weight_orig').grad!.eq(0);
      expect(zeros.toArray()).toEqual(module.getBuffer('weight_mask').eq(0).toArray());
      return module.weight.detach();
    };
    expect(train(true).allclose(train(false))).toBe(true);
  });

  it('has gradients of the parameter where the mask is one', () => {
    const module = made();
    prune.l1Unstructured(module, 'weight', 0.3);
    module
      .call(ones([2, 5]))
      .sum()
      .backward();
    expect(module.getParameter('weight_orig').grad!.toArray()).toEqual([
      [0, 2, 2, 2, 0],
      [2, 2, 0, 2, 2],
      [2, 0, 2, 2, 2],
      [0, 2, 2, 2, 0],
    ]);
  });

  it('takes methods of a program', () => {
    const everySecond: prune.PruningMethod = {
      type: 'unstructured',
      computeMask: (scores, before) => before.mul(arange(scores.numel).remainder(2)),
    };
    const module = made();
    prune.apply(module, 'weight', everySecond);
    expect(mask(module)).toBe('01010 10101 01010 10101');
  });

  it.each<[string, () => unknown, string]>([
    [
      'less than nothing',
      () => prune.l1Unstructured(made(), 'weight', -1),
      'amount=-1 should either be a float in the range [0, 1] or a non-negative integer',
    ],
    [
      'more than all',
      () => prune.l1Unstructured(made(), 'weight', 1.5),
      'amount=1.5 should either be',
    ],
    [
      'too many',
      () => prune.l1Unstructured(made(), 'weight', 21),
      'amount=21 should be smaller than the number of parameters to prune=20',
    ],
    [
      'a word',
      () => prune.l1Unstructured(made(), 'weight', 'a' as never),
      'Invalid type for amount: a.',
    ],
    [
      'what is not there',
      () => prune.l1Unstructured(made(), 'nope', 1),
      "does not have a parameter 'nope'",
    ],
    [
      'scores of another shape',
      () => prune.l1Unstructured(made(), 'weight', 1, { importanceScores: ones([3]) }),
      'importance_scores should have the same shape as parameter weight of Linear(in_features=5, out_features=4, bias=True), got [3] vs [4, 5]',
    ],
    [
      'channels of a vector',
      () => prune.lnStructured(made(), 'bias', { amount: 1, n: 2, dim: 0 }),
      'multidimensional tensors. Found tensor of shape [4] with 1 dims',
    ],
    [
      'no dimension',
      () => prune.lnStructured(made(), 'weight', { amount: 1, n: 2, dim: 2 }),
      'Invalid index 2 for tensor of size [4, 5]',
    ],
    [
      'a mask of another shape',
      () => prune.customFromMask(made(), 'weight', ones([2])),
      'must match self.mask shape [2]',
    ],
    [
      'channels together',
      () => prune.globalUnstructured([[made(), 'weight']], prune.LnStructured, { amount: 1, n: 2 }),
      'Only "unstructured" PRUNING_TYPE supported',
    ],
    [
      'what was not pruned',
      () => prune.remove(made(), 'weight'),
      "Parameter 'weight' of module Linear(in_features=5, out_features=4, bias=True) has to be pruned before pruning can be removed",
    ],
  ])('refuses %s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});

describe('copies of a module', () => {
  it('are pruned by masks of their own', () => {
    const module = made();
    prune.l1Unstructured(module, 'weight', 0.3);
    const copy = cloneModule(module);
    noGrad(() => copy.getParameter('weight_orig').fill_(2));
    expect(copy.weight.toArray()).toEqual(copy.getBuffer('weight_mask').mul(2).toArray());
    expect(module.weight.amax().item()).toBeLessThan(1.01);
    expect(prune.isPruned(copy)).toBe(true);
  });

  it('are parametrized by parametrizations of their own', () => {
    const module = made();
    parametrize.weightNorm(module);
    const copy = cloneModule(module);
    expect(copy.weight.toArray()).toEqual(module.weight.toArray());
    const before = module.weight.detach().clone();
    noGrad(() => {
      copy.weight = tensor([[1, 2, 3, 4, 5]]).expand([4, 5]) as never;
    });
    expect(copy.weight.allclose(tensor([1, 2, 3, 4, 5]))).toBe(true);
    expect(module.weight.equal(before)).toBe(true);
  });
});
