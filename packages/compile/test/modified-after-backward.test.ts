/**
 * @file Results whose history reads what the program has modified since: a loss that is returned after the optimizer's
 * step. The graph is compiled, and the error is that of whoever differentiates the result later.
 */
import { Linear, Sequential, Tanh, optim } from '@tessera/nn';
import { type Tensor, grad, isTensor, manualSeed, noGrad, randn, tensor } from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compile, explain } from '../src/index.js';

afterEach(() => void vi.restoreAllMocks());

const MODIFIED = expect.objectContaining({
  code: 'inplace-version',
  message: expect.stringMatching(
    /^one of the variables needed for gradient computation has been modified by an inplace operation: \[Float \[5, 1\]\]/,
  ),
});

/** A training step that keeps its graph, and returns the loss. */
function keptStep(): (x: Tensor) => Tensor {
  manualSeed(1);
  const net = new Sequential(new Linear(3, 5), new Tanh(), new Linear(5, 1));
  const optimizer = new optim.SGD(net.parameters(), { lr: 0.1 });
  return (x) => {
    optimizer.zeroGrad();
    const loss = net.call(x).square().mean();
    loss.backward(undefined, { retainGraph: true });
    optimizer.step();
    return loss;
  };
}

describe.each(['aot_eager', 'inductor'])('a loss behind an optimizer step (%s)', (backend) => {
  it('is compiled, and cannot be differentiated', () => {
    const warn = vi.spyOn(console, 'warn');
    const [eager, step] = [keptStep(), keptStep()];
    const compiled = compile(step, { backend });
    for (let i = 0; i < 4; i++) {
      const x = randn([4, 3]);
      const [want, got] = [eager(x), compiled(x)];
      expect(got.item()).toBeCloseTo(want.item(), 5);
      expect([got.requiresGrad, got.gradFn !== null]).toEqual([true, true]);
      expect(() => want.backward()).toThrow(MODIFIED);
      expect(() => got.backward()).toThrow(MODIFIED);
      expect(() => got.mul(2).backward()).toThrow(MODIFIED);
    }
    expect(warn).not.toHaveBeenCalled();
    expect(explain(step)(randn([4, 3])).uncompiled).toEqual([]);
  });

  it('is an error only where gradients go through what was modified', () => {
    const make = (): ((x: Tensor) => Tensor[]) => {
      const [a, b] = [tensor([1, 2]).requiresGrad_(), tensor([3, 4]).requiresGrad_()];
      return (x) => {
        const fine = b.mul(x);
        const other = a.exp();
        const cubes = a.pow(3).mul(x);
        noGrad(() => a.add_(1));
        return [cubes, fine, other, a, b];
      };
    };
    const [eager, compiled] = [make(), compile(make(), { backend })];
    for (let i = 0; i < 3; i++) {
      const results = [eager, compiled].map((fn) => {
        const [cubes, fine, other, a, b] = fn(tensor([1, -1]));
        const slope = (of: Tensor, at: Tensor): unknown => {
          try {
            const [found] = grad([of.sum()], [at]);
            return isTensor(found) ? found.toArray() : found;
          } catch (error) {
            return (error as { code?: string }).code;
          }
        };
        return [slope(cubes!, a!), slope(fine!, b!), String(slope(other!, a!)).slice(0, 12)];
      });
      expect(results[1]).toEqual(results[0]);
      expect(results[0]![0]).toBe('inplace-version');
    }
  });
});
