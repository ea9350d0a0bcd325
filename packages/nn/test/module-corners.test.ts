/**
 * @file Corners of modules as PyTorch 2.13 has them: options, what is refused, unbatched inputs, printed text.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange, grad, ones, tensor, zeros } from '@tessera/tensor';
import * as nn from '../src/index.js';
import { thrownBy } from './thrown-by.js';

const { functional: F } = nn;

describe('norms without a bias', () => {
  it.each([
    ['BatchNorm2d', () => new nn.BatchNorm2d(3, { bias: false })],
    ['InstanceNorm1d', () => new nn.InstanceNorm1d(3, { affine: true, bias: false })],
    ['GroupNorm', () => new nn.GroupNorm(1, 3, { bias: false })],
    ['LazyBatchNorm1d', () => new nn.LazyBatchNorm1d({ bias: false })],
  ] as const)('%s keeps its weight', (_name, make) => {
    const module = make();
    expect(module.bias).toBeNull();
    expect(module.weight).not.toBeNull();
    expect(Object.keys(module.stateDict())).not.toContain('bias');
  });

  it('prints whether there is one', () => {
    expect(String(new nn.BatchNorm1d(2, { bias: false }))).toBe(
      'BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, bias=False, track_running_stats=True)',
    );
    expect(String(new nn.InstanceNorm1d(2))).toBe(
      'InstanceNorm1d(2, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)',
    );
    expect(String(new nn.GroupNorm(1, 2))).toBe(
      'GroupNorm(1, 2, eps=1e-05, affine=True, bias=True)',
    );
    expect(String(new nn.LayerNorm(2, { elementwiseAffine: false }))).toBe(
      'LayerNorm((2,), eps=1e-05, elementwise_affine=False, bias=False)',
    );
  });
});

describe('unbatched inputs', () => {
  it('an instance norm in evaluation has gradients', () => {
    const norm = new nn.InstanceNorm1d(2, { trackRunningStats: true }).eval();
    const x = arange(6, { dtype: 'float32' }).reshape([2, 3]).requiresGrad_();
    const [dx] = grad([norm.call(x).sum()], [x]);
    expect([...new Set(dx!.flatten().toArray() as number[])]).toHaveLength(1);
    expect(norm.running_var!.toArray()).toEqual([1, 1]);
  });

  it('circular padding continues from the other end', () => {
    const x = arange(6, { dtype: 'float32' }).reshape([2, 3]);
    expect(new nn.CircularPad1d(1).call(x).toArray()).toEqual([
      [2, 0, 1, 2, 0],
      [5, 3, 4, 5, 3],
    ]);
  });
});

describe('gaussianNllLoss', () => {
  const input = tensor([
    [1, 2],
    [3, 4],
  ]);
  const target = tensor([
    [0, 2],
    [1, 1],
  ]);

  it('takes one variance for any one dimension', () => {
    expect(F.gaussianNllLoss(input, target, tensor([[1, 4]])).item()).toBeCloseTo(1.2528, 4);
    expect(F.gaussianNllLoss(ones([2, 3]), ones([2, 3]), ones([1, 3])).item()).toBe(0);
  });

  it.each([[[1, 1]], [[3]], [[0, 3]]])('refuses a variance of %o for [2, 3]', (sizes) => {
    const x = ones([2, 3]);
    expect(thrownBy(() => F.gaussianNllLoss(x, x, ones(sizes)))).toMatchObject({
      code: 'shape-mismatch',
    });
  });
});

describe('FractionalMaxPool2d', () => {
  it('keeps the numbers that place its windows in the state dict', () => {
    const pool = new nn.FractionalMaxPool2d(2, { outputSize: 2, randomSamples: zeros([1, 1, 2]) });
    expect(Object.keys(pool.stateDict())).toEqual(['_random_samples']);
    expect(String(pool)).toBe('FractionalMaxPool2d()');
    expect(new nn.FractionalMaxPool2d(2, { outputSize: 2 }).stateDict()).toEqual({});
  });

  it.each([
    {},
    { outputSize: 2, outputRatio: 0.5 },
    { outputRatio: 1.5 },
    { outputRatio: [0.5, 0] },
  ])('refuses %o when it is made', (options) => {
    expect(thrownBy(() => new nn.FractionalMaxPool2d(2, options))).toMatchObject({
      code: 'invalid-argument',
    });
  });
});

describe('refused values', () => {
  const x = arange(6, { dtype: 'float32' }).reshape([2, 3]);
  it.each([
    ['eps of 0 in training', () => new nn.BatchNorm1d(3, { eps: 0 }).call(x)],
    ['a negative eps', () => new nn.BatchNorm1d(3, { eps: -1 }).eval().call(x)],
    ['no features', () => new nn.RNN(0, 2)],
    ['ignoreIndex for probabilities', () => F.crossEntropy(x, x.softmax(1), { ignoreIndex: 1 })],
    [
      'smoothing of 1.5',
      () => F.crossEntropy(x, tensor([0, 1], { dtype: 'int64' }), { labelSmoothing: 1.5 }),
    ],
  ])('%s', (_name, call) => {
    expect(thrownBy(call)).toMatchObject({ code: 'invalid-argument' });
  });

  it('not eps of 0 in evaluation', () => {
    const norm = new nn.BatchNorm1d(3, { eps: 0 }).eval();
    expect(norm.call(x).toArray()).toEqual(x.toArray());
  });
});

describe('state dicts without counts of batches', () => {
  const without = (module: nn.Module): Record<string, Tensor> =>
    Object.fromEntries(
      Object.entries(module.stateDict()).filter(([name]) => !name.includes('num_batches')),
    );
  it.each([
    ['BatchNorm1d', () => new nn.BatchNorm1d(2)],
    ['InstanceNorm1d', () => new nn.InstanceNorm1d(2, { trackRunningStats: true })],
    ['a copy of one', () => nn.cloneModule(new nn.BatchNorm1d(2))],
  ] as const)('%s loads them as PyTorch does, and keeps its count', (_name, make) => {
    const module = make();
    module.num_batches_tracked!.add_(5);
    const net = new nn.Sequential(module);
    expect(net.loadStateDict(without(net))).toEqual({ missingKeys: [], unexpectedKeys: [] });
    expect(module.num_batches_tracked!.item()).toBe(5);
  });
  it('says what else is missing', () => {
    expect(() =>
      new nn.Sequential(new nn.BatchNorm1d(2)).loadStateDict({ '0.weight': ones([2]) }),
    ).toThrow('Missing key(s) in state_dict: "0.bias", "0.running_mean", "0.running_var".');
  });
});

describe('Module.to', () => {
  it('takes a device and a dtype, which leaves integers what they are', () => {
    const model = new nn.BatchNorm1d(3).to('cpu', 'float64');
    expect([...model.parameters(), ...model.buffers()].map(({ dtype }) => dtype)).toEqual([
      ...Array<string>(4).fill('float64'),
      'int64',
    ]);
  });

  it.each<[string, readonly unknown[], RegExp]>([
    ['a dtype before a device', ['float64', 'cpu'], /device comes before the dtype/],
    ['integers', ['int64'], /only accepts floating point dtypes.*dtype=int64/s],
    ['integers on a device', ['cpu', 'int64'], /only accepts floating point dtypes/],
    ['what is neither', ['cpu', 'banana'], /banana/],
  ])('refuses %s, before anything is moved', (_name, args, expected) => {
    const model = new nn.Linear(2, 2);
    const to = model.to.bind(model) as (...args: readonly unknown[]) => unknown;
    expect(() => to(...args)).toThrow(expected);
    expect(model.weight.dtype).toBe('float32');
  });
});
