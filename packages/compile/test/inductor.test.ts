import { describe, expect, it } from 'vitest';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, tensor, fromTypedArray, manualSeed, mm, mul, softmax } from '@tessera/tensor';
import { compile, compiledFunctionOf, config } from '../src/index.js';

/** Repeatable values in [-1, 1]. */
function waves(sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.sin(i * 12.9898)),
    sizes,
  );
}

function values(t: Tensor): number[] {
  return Array.from(t.toTypedArray() as Float32Array);
}

function expectClose(actual: Tensor, expected: Tensor, rtol = 1e-5): void {
  const a = values(actual);
  const e = values(expected);
  expect(actual.shape).toEqual(expected.shape);
  a.forEach((value, i) =>
    expect(Math.abs(value - e[i]!)).toBeLessThanOrEqual(1e-5 + rtol * Math.abs(e[i]!)),
  );
}

describe('inductor on cpu', () => {
  it('compiles pointwise chains, reductions and products', () => {
    const x = waves([33, 70]);
    const y = waves([70, 41]);
    const fns: ((a: Tensor, b: Tensor) => Tensor)[] = [
      (a) => a.mul(2).add(1).tanh(),
      (a) => softmax(a, 1),
      (a) => a.sum(0),
      (a, b) => mm(a, b).add(1).mul(0.5),
      (a) => mul(a.sum(1, { keepdim: true }), a),
    ];
    for (const fn of fns) {
      const compiled = compile(fn);
      for (let i = 0; i < 2; i++) expectClose(compiled(x, y), fn(x, y));
    }
  });

  it('trains an MLP in one artifact, as eager does', () => {
    const make = (): { step: (x: Tensor, t: Tensor) => Tensor; model: Sequential } => {
      manualSeed(7);
      const model = new Sequential(new Linear(12, 16), new ReLU(), new Linear(16, 5));
      const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-2 });
      return {
        model,
        step: (x, t) => {
          optimizer.zeroGrad();
          const loss = F.crossEntropy(model.call(x) as Tensor, t);
          loss.backward();
          optimizer.step();
          return loss;
        },
      };
    };
    const x = waves([20, 12]);
    const t = tensor(
      Array.from({ length: 20 }, (_, i) => i % 5),
      { dtype: 'int64' },
    );
    const eager = make();
    const expected = config.patch({ 'eager.kernels': 'reference' }, () =>
      Array.from({ length: 6 }, () => eager.step(x, t).item()),
    );
    const compiled = make();
    const step = compile(compiled.step);
    const losses = Array.from({ length: 6 }, () => step(x, t).item());
    losses.forEach((loss, i) => expect(loss).toBeCloseTo(expected[i]!, 4));
    expect(compiledFunctionOf(step).captures.length).toBe(1);
  });
});

describe('gradients of reductions', () => {
  it.each([
    ['sum of all', (x: Tensor) => x.sum()],
    ['sum over dim 0', (x: Tensor) => x.sum(0)],
    ['mean over dim 1', (x: Tensor) => x.mean(1)],
  ])('%s has memory of its own', (_name, fn) => {
    const expected = waves([3, 4]).requiresGrad_();
    fn(expected).sum().backward();
    const x = waves([3, 4]).requiresGrad_();
    compile(fn)(x).sum().backward();
    expect(x.grad!.toArray()).toEqual(expected.grad!.toArray());
    x.grad!.mul_(2);
    expect((x.grad!.toArray() as number[][])[0]![1]).toBe(
      2 * (expected.grad!.toArray() as number[][])[0]![1]!,
    );
  });
});
