/**
 * @file What `torch.nn.utils` has beside hooks and masks: norms of gradients, fused batch norms, cached parametrizations.
 */
import { type Tensor, allclose, noGrad, rand, randn, tensor } from '@tessera/tensor';
import { matrixExp } from '@tessera/tensor/linalg';
import { describe, expect, it } from 'vitest';
import * as nn from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

describe('getTotalNorm and clipGradsWithNorm_', () => {
  const parameters = (): nn.Parameter[] => {
    const list = [tensor([3, 0]), tensor([[4]])].map((x) => new nn.Parameter(x));
    list.forEach((p) => (p.grad = p.detach().clone()));
    return list;
  };
  it('take several tensors as one', () => {
    const grads = parameters().map((p) => p.grad!);
    expect(nn.getTotalNorm(grads).item()).toBe(5);
    expect(nn.getTotalNorm(grads, { normType: 1 }).item()).toBe(7);
    expect(nn.getTotalNorm(grads, { normType: Infinity }).item()).toBe(4);
    expect(nn.getTotalNorm([]).item()).toBe(0);
    expect(() => nn.getTotalNorm([tensor([Infinity])], { errorIfNonfinite: true })).toThrow(
      'The total norm of order 2 for gradients from `parameters` is non-finite, so it cannot be clipped.',
    );
  });
  it('clip by a norm that is known, as clipGradNorm_ by its own', () => {
    const [a, b] = [parameters(), parameters()];
    const total = nn.clipGradNorm_(a, 1);
    nn.clipGradsWithNorm_(b, 1, total);
    a.forEach((p, i) => expect(p.grad!.toArray()).toEqual(b[i]!.grad!.toArray()));
    // A larger whole shrinks them further.
    nn.clipGradsWithNorm_(b, 1, tensor(10));
    expect(b[0]!.grad!.select(0, 0).item()).toBeCloseTo(0.06, 5);
  });
});

describe('fused batch norms', () => {
  function trained<N extends nn.BatchNorm1d | nn.BatchNorm2d>(bn: N): N {
    noGrad(() => {
      bn.running_mean!.copy_(randn([bn.numFeatures]));
      bn.running_var!.copy_(rand([bn.numFeatures]).add(0.5));
      bn.weight?.copy_(randn([bn.numFeatures]));
      bn.bias?.copy_(randn([bn.numFeatures]));
    });
    bn.eval();
    return bn;
  }
  it.each([
    ['plain', {}, {}],
    ['without bias, in groups', { bias: false, groups: 2 }, {}],
    ['without weights of the norm', {}, { affine: false }],
  ] as const)('into a convolution, %s', (_name, conv, norm) => {
    const layer = new nn.Conv2d(4, 6, 3, conv).eval();
    const bn = trained(new nn.BatchNorm2d(6, norm));
    const x = randn([2, 4, 7, 7]);
    const fused = nn.fuseConvBnEval(layer, bn);
    expect(fused).toBeInstanceOf(nn.Conv2d);
    expect(allclose(fused.call(x), bn.call(layer.call(x)), { atol: 1e-5 })).toBe(true);
    expect(fused.weight).not.toBe(layer.weight);
    expect(fused.weight.requiresGrad).toBe(true);
  });
  it('into a transposed convolution and a linear layer', () => {
    const layer = new nn.ConvTranspose2d(4, 6, 3).eval();
    const bn = trained(new nn.BatchNorm2d(6));
    const x = randn([2, 4, 5, 5]);
    const fused = nn.fuseConvBnEval(layer, bn, { transpose: true });
    expect(allclose(fused.call(x), bn.call(layer.call(x)), { atol: 1e-5 })).toBe(true);
    const linear = new nn.Linear(3, 5).eval();
    const flat = trained(new nn.BatchNorm1d(5));
    const y = randn([4, 3]);
    const both = nn.fuseLinearBnEval(linear, flat);
    expect(allclose(both.call(y), flat.call(linear.call(y)), { atol: 1e-5 })).toBe(true);
  });
  it('are refused in the words of PyTorch', () => {
    const [conv, bn] = [new nn.Conv2d(1, 2, 1), new nn.BatchNorm2d(2)];
    expect(() => nn.fuseConvBnEval(conv, bn)).toThrow('Fusion only for eval!');
    const without = new nn.BatchNorm2d(2, { trackRunningStats: false }).eval();
    expect(() => nn.fuseConvBnEval(conv.eval(), without)).toThrow(
      'bn.running_mean and bn.running_var must not be None',
    );
    expect(() => nn.fuseLinearBnEval(new nn.Linear(1, 3), new nn.BatchNorm1d(2))).toThrow(
      'got linear.out_features=3 and bn.num_features=2',
    );
  });
});

describe('parametrize.cached', () => {
  let count = 0;
  class Exp extends nn.Module {
    override forward(x: Tensor): Tensor {
      count++;
      return matrixExp(x);
    }
  }
  const layer = nn.parametrize.registerParametrization(new nn.Linear(3, 3), 'weight', new Exp());
  const reads = (fn: () => unknown): number => {
    count = 0;
    fn();
    return count;
  };
  it('computes once for several reads, and again afterwards', () => {
    const two = (): boolean => layer.weight === layer.weight;
    expect(reads(two)).toBe(2);
    expect(nn.parametrize.cached(two)).toBe(true);
    expect(reads(() => nn.parametrize.cached(two))).toBe(1);
    expect(reads(() => nn.parametrize.cached(() => nn.parametrize.cached(two) && two()))).toBe(1);
    expect(two()).toBe(false);
  });
  it('keeps what has gradients apart from what has none, and gradients add up', () => {
    const x = randn([2, 3]);
    const loss = (): Tensor => layer.call(layer.call(x)).sum();
    loss().backward();
    const original = layer.getParameter('parametrizations.weight.original');
    const expected = original.grad!.clone();
    original.grad = null;
    nn.parametrize.cached(() => {
      expect(noGrad(() => layer.weight).requiresGrad).toBe(false);
      loss().backward();
    });
    expect(allclose(original.grad!, expected)).toBe(true);
  });
  it('forgets what is assigned', () => {
    const square = nn.parametrize.registerParametrization(
      new nn.Linear(2, 2),
      'weight',
      new Twice(),
    );
    nn.parametrize.cached(() => {
      expect(square.weight.requiresGrad).toBe(true);
      (square as { weight: Tensor }).weight = tensor([
        [2, 4],
        [6, 8],
      ]);
      expect(square.weight.toArray()).toEqual([
        [2, 4],
        [6, 8],
      ]);
    });
  });
  it('works in and around compiled functions', () => {
    const x = randn([2, 3]);
    const twice = (y: Tensor): Tensor => layer.call(layer.call(y));
    const expected = twice(x);
    const inside = compileForTest((y: Tensor) => nn.parametrize.cached(() => twice(y)));
    const outside = compileForTest(twice);
    for (let call = 0; call < 3; call++) {
      expect(allclose(inside.call(x), expected)).toBe(true);
      nn.parametrize.cached(() => {
        expect(layer.weight.requiresGrad).toBe(true);
        expect(allclose(outside.call(x), expected)).toBe(true);
        expect(allclose(twice(x), expected)).toBe(true);
      });
    }
  });
});

/** Twice the original. */
class Twice extends nn.Module {
  override forward(x: Tensor): Tensor {
    return x.mul(2);
  }
  rightInverse(x: Tensor): Tensor {
    return x.div(2);
  }
}
