/**
 * @file Programs like those of the freezing rows of the conformance list, with other layers and operators.
 */
import {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  Conv1d,
  Conv2d,
  Conv3d,
  Linear,
  Module,
  Parameter,
  ReLU,
  Sequential,
  functional as F,
} from '@tessera/nn';
import {
  type Tensor,
  bernoulli,
  full,
  noGrad,
  ones,
  rand,
  randLike,
  randn,
  randperm,
  zeros,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config, useFreezing } from '../src/index.js';

useFreezing();

const FROZEN = { freezing: true, freezingDiscardParameters: true };

function expectClose(actual: Tensor, expected: Tensor): void {
  expect(actual.sizes).toEqual(expected.sizes);
  expect(actual.sub(expected).abs().max().item()).toBeLessThan(1e-4);
}

describe('freezing', () => {
  it.each<[string, () => Sequential, Tensor]>([
    ['one', () => new Sequential(new Conv1d(3, 8, 3), new BatchNorm1d(8)), rand([2, 3, 12])],
    ['three', () => new Sequential(new Conv3d(2, 4, 2), new BatchNorm3d(4)), rand([1, 2, 5, 5, 5])],
    [
      'grouped and dilated',
      () =>
        new Sequential(
          new Conv2d(4, 8, 3, { groups: 2, dilation: 2 }),
          new BatchNorm2d(8),
          new Conv2d(8, 4, 1),
          new BatchNorm2d(4),
        ),
      rand([2, 4, 12, 12]),
    ],
    [
      'linear',
      () => new Sequential(new Linear(6, 5), new BatchNorm1d(5), new ReLU(), new Linear(5, 2)),
      rand([7, 6]),
    ],
  ])('folds batch norms behind other layers: %s', (_, make, x) => {
    const model = make();
    noGrad(() => model.call(x));
    model.eval();
    const expected = noGrad(() => model.call(x) as Tensor);
    const run = compile((m: Sequential, input: Tensor) => m.call(input) as Tensor);
    config.patch(FROZEN, () => {
      for (let i = 0; i < 2; i++)
        expectClose(
          noGrad(() => run(model, x)),
          expected,
        );
    });
    expect(() => model.call(x)).toThrow(/Trying to run .* Eager Module after .* Freezing/);
  });

  it('leaves parameters that are returned as views, or written, to the caller', () => {
    class Model extends Module {
      written = new Parameter(zeros([4]));
      returned = new Parameter(randn([4, 4]));
      folded = new Parameter(ones([4]));

      override forward(x: Tensor): Tensor[] {
        this.written.add_(x).mul_(2);
        return [this.returned.t(), this.returned, this.written.add(this.folded.mul(3))];
      }
    }
    const [eager, model] = [new Model(), new Model()];
    const run = compile((m: Model, x: Tensor) => m.call(x));
    for (let i = 0; i < 3; i++) {
      const x = randn([4]);
      const expected = noGrad(() => eager.call(x))[2]!;
      const actual = config.patch(FROZEN, () => noGrad(() => run(model, x)));
      expectClose(actual[2]!, expected);
      expectClose(actual[0]!, model.returned.detach().t());
      expect(actual[0]!.storage).toBe(model.returned.storage);
      expect(actual[1]).toBe(model.returned);
    }
  });

  it.each<[string, (p: Parameter) => Tensor]>([
    ['randn', (p) => randn([4, 4]).mul(p)],
    ['bernoulli', (p) => bernoulli(full([4, 4], 0.5)).add(p)],
    ['dropout', (p) => F.dropout(p, { p: 0.5, training: true })],
    ['rand_like', (p) => randLike(p).add(1)],
    ['randperm', (p) => randperm(16).view([4, 4]).add(p)],
  ])('never folds %s', (_, draw) => {
    const p = new Parameter(ones([4, 4]));
    const run = compile(() => draw(p));
    const [first, second] = config.patch({ freezing: true }, () =>
      noGrad(() => [run().toArray(), run().toArray()]),
    );
    expect(first).not.toEqual(second);
  });
});
