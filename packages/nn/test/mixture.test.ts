/** @file Mixtures of distributions: formulas against PyTorch's values, samples against moments, compiled training. */
import { type Tensor, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Linear, optim } from '../src/index.js';
import * as D from '../src/distributions/index.js';
import { compileForTest } from './compile-for-test.js';

const close = (actual: Tensor, expected: readonly number[]): void => {
  const values = actual.detach().reshape([-1]).toArray() as number[];
  expect(values).toHaveLength(expected.length);
  for (const [i, value] of values.entries()) expect(value).toBeCloseTo(expected[i]!, 5);
};
const weights = (): D.Categorical =>
  new D.Categorical({
    probs: tensor([
      [0.2, 0.5, 0.3],
      [0.6, 0.1, 0.3],
    ]),
  });
const numbers = (): D.MixtureSameFamily =>
  new D.MixtureSameFamily(
    weights(),
    new D.Normal(
      tensor([
        [-1, 0, 2],
        [1, 3, -2],
      ]),
      tensor([
        [0.5, 1, 0.7],
        [1, 0.2, 0.4],
      ]),
    ),
  );
const vectors = (): D.MixtureSameFamily =>
  new D.MixtureSameFamily(
    new D.Categorical({
      probs: tensor([
        [0.2, 0.8],
        [0.6, 0.4],
      ]),
    }),
    new D.Independent(
      new D.Normal(
        tensor([-1, 0, 2, 1, 0, 1, 3, -2]).reshape([2, 2, 2]),
        tensor([0.5, 1, 0.7, 1, 1, 0.2, 0.4, 0.3]).reshape([2, 2, 2]),
      ),
      1,
    ),
  );
const values = tensor([
  [0.3, -0.4],
  [1.5, 2.9],
]);

describe('MixtureSameFamily', () => {
  it('has the log probability, cdf and moments of PyTorch', () => {
    const mixture = numbers();
    close(mixture.logProb(values), [-1.5843306, -2.4086475, -1.623347, -1.5352484]);
    close(mixture.cdf(values), [0.5102972, 0.3484445, 0.7378539, 0.9136239]);
    close(mixture.mean, [0.4, 0.3]);
    close(mixture.variance, [1.937, 3.2620001]);
    expect([mixture.batchShape, mixture.eventShape]).toEqual([[2], []]);
  });

  it('is over events of dimensions too', () => {
    const mixture = vectors();
    close(mixture.logProb(values), [-5.1890068, -46.9892654]);
    close(mixture.mean, [1.4, 0.8, 1.2, -0.2]);
    close(mixture.variance, [1.8820001, 1.16, 2.8239999, 2.2199998]);
    expect([mixture.batchShape, mixture.eventShape]).toEqual([[2], [2]]);
  });

  it.each([
    ['numbers', numbers],
    ['vectors', vectors],
  ])('samples %s of its mean and variance', (_, make) => {
    manualSeed(3);
    const mixture = make();
    const samples = mixture.sample([40, 500]);
    expect(samples.sizes).toEqual([40, 500, ...mixture.batchShape, ...mixture.eventShape]);
    expect(samples.requiresGrad).toBe(false);
    const difference = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item() as number;
    expect(difference(samples.mean([0, 1]), mixture.mean)).toBeLessThan(0.05);
    expect(difference(samples.variance([0, 1]), mixture.variance)).toBeLessThan(0.1);
  });

  it('trains a mixture density network, compiled as in eager mode', () => {
    const run = (compiled: boolean): number[] => {
      manualSeed(5);
      const model = new Linear(3, 12);
      const optimizer = new optim.Adam(model.parameters(), { lr: 0.05 });
      const body = (x: Tensor, y: Tensor): Tensor => {
        const [logits, loc, scale] = model.call(x).chunk(3, 1) as [Tensor, Tensor, Tensor];
        const mixture = new D.MixtureSameFamily(
          new D.Categorical({ logits }),
          new D.Normal(loc, scale.exp()),
        );
        const loss = mixture.logProb(y).mean().neg();
        optimizer.zeroGrad();
        loss.backward();
        optimizer.step();
        return loss;
      };
      const step = compiled ? compileForTest(body).call : body;
      return [5, 7, 5].map((rows) => {
        const x = ones([rows, 3]).cumsum(0).div(rows);
        return step(x, x.sum(1).sin()).item() as number;
      });
    };
    const eager = run(false);
    expect(eager[2]).toBeLessThan(eager[0]!);
    for (const [i, loss] of run(true).entries()) expect(loss).toBeCloseTo(eager[i]!, 5);
  });

  it('names what does not fit', () => {
    const three = new D.Normal(zeros([2, 3]), ones([2, 3]));
    const Mixture = D.MixtureSameFamily as new (...args: unknown[]) => D.MixtureSameFamily;
    expect(() => new Mixture(three, three)).toThrow('needs to be an instance of');
    expect(() => new Mixture(weights(), ones([3]))).toThrow('The Component distribution');
    expect(() => new Mixture(weights(), new D.Normal(zeros([2, 4]), ones([2, 4])))).toThrow(
      '(3) does not equal `component_distribution.batch_shape[-1]` (4)',
    );
    expect(() => new Mixture(weights(), new D.Normal(zeros([5, 3]), ones([5, 3])))).toThrow(
      'is not compatible',
    );
    expect(() => numbers().entropy()).toThrow('has no entropy()');
    expect(() => numbers().rsample()).toThrow('has no rsample()');
  });
});
