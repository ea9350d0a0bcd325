/**
 * @file Transforms of parts along a dimension: numbers of PyTorch 2.13.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as D from '../src/distributions/index.js';
import { thrownBy } from './thrown-by.js';

const x = tensor(
  [
    [0.5, -1, 2],
    [0.25, 0.75, -0.5],
  ],
  { dtype: 'float64' },
);

function expectClose(actual: Tensor, expected: readonly number[], sizes: readonly number[]): void {
  expect(actual.sizes).toEqual(sizes);
  (actual.flatten().toArray() as number[]).forEach((value, i) =>
    expect(value).toBeCloseTo(expected[i]!, 12),
  );
}

const affine = (): D.Transform => new D.AffineTransform(1, -2);

describe('CatTransform', () => {
  it('of elements', () => {
    const t = new D.CatTransform([new D.ExpTransform(), affine()], { dim: 1, lengths: [1, 2] });
    const y = t.call(x);
    expectClose(y, [1.6487212707001282, 3, -3, 1.2840254166877414, -0.5, 2], [2, 3]);
    expectClose(t.invert(y), x.flatten().toArray() as number[], [2, 3]);
    expectClose(
      t.logAbsDetJacobian(x, y),
      [0.5, Math.LN2, Math.LN2, 0.25, Math.LN2, Math.LN2],
      [2, 3],
    );
    expect([t.bijective, t.domain.text, t.domain.eventDim]).toEqual([true, 'Cat()', 0]);
  });

  it('of events: the terms are added', () => {
    const t = new D.CatTransform(
      [
        new D.IndependentTransform(new D.ExpTransform(), 1),
        new D.AffineTransform(0, 3, { eventDim: 1 }),
      ],
      { dim: -1, lengths: [2, 1] },
    );
    const y = t.call(x);
    expectClose(
      y,
      [1.6487212707001282, 0.36787944117144233, 6, 1.2840254166877414, 2.117000016612675, -1.5],
      [2, 3],
    );
    expectClose(t.logAbsDetJacobian(x, y), [0.5986122886681098, 2.09861228866811], [2]);
  });

  it('is no bijection where a part is none', () => {
    const t = new D.CatTransform([new D.StickBreakingTransform(), new D.SoftmaxTransform()]);
    expect([t.bijective, t.domain.eventDim]).toEqual([false, 1]);
  });

  it('transforms a distribution', () => {
    const base = new D.Normal(tensor([[0, 0, 0]], { dtype: 'float64' }).expand([2, 3]), 1);
    const t = new D.CatTransform([new D.ExpTransform(), affine()], { dim: 1, lengths: [1, 2] });
    const p = new D.TransformedDistribution(base, t);
    const y = tensor(
      [
        [0.5, -1, 2],
        [0.25, 0.75, -0.5],
      ],
      { dtype: 'float64' },
    );
    expectClose(
      p.logProb(y),
      [
        -0.46601785960382813, -2.112085713764618, -1.737085713764618, -0.4935501999211849,
        -1.619898213764618, -1.893335713764618,
      ],
      [2, 3],
    );
  });

  it('refuses other lengths', () => {
    const parts = [new D.ExpTransform(), affine()];
    expect(thrownBy(() => new D.CatTransform(parts, { lengths: [1] })).message).toContain(
      'lengths (1) must match transforms (2)',
    );
    expect(thrownBy(() => new D.CatTransform(parts, { dim: 1 }).call(x)).message).toContain(
      'x.size(1) = 3 must equal length 2',
    );
    expect(thrownBy(() => new D.CatTransform(parts, { dim: 2 }).call(x)).message).toContain(
      'dim 2 out of range for tensor with 2 dimensions',
    );
  });
});

it('StackTransform takes each place by itself', () => {
  const t = new D.StackTransform([new D.ExpTransform(), affine()]);
  const y = t.call(x);
  expectClose(y, [1.6487212707001282, 0.36787944117144233, 7.38905609893065, 0.5, -0.5, 2], [2, 3]);
  expectClose(t.invert(y), x.flatten().toArray() as number[], [2, 3]);
  expectClose(t.logAbsDetJacobian(x, y), [0.5, -1, 2, Math.LN2, Math.LN2, Math.LN2], [2, 3]);
  expect(t.domain.text).toBe('Stack()');
});

describe('sets along a dimension', () => {
  const { cat, stack, positive, real, unitInterval } = D.constraints;
  it('check each part', () => {
    expect(
      cat([positive, real], { dim: 1, lengths: [1, 2] })
        .check(x)
        .all()
        .item(),
    ).toBe(1);
    expect(stack([positive, real]).check(x).to('int64').flatten().toTypedArray()).toEqual(
      BigInt64Array.of(1n, 0n, 1n, 1n, 1n, 1n),
    );
  });

  it('are reached part by part', () => {
    const lengths = [1, 2];
    expectClose(
      D.transformTo(cat([positive, unitInterval], { dim: 1, lengths })).call(x),
      [
        1.6487212707001282, 0.2689414213699951, 0.8807970779778823, 1.2840254166877414,
        0.679178699175393, 0.3775406687981454,
      ],
      [2, 3],
    );
    expectClose(
      D.bijectTo(stack([positive, unitInterval])).call(x),
      [
        1.6487212707001282, 0.36787944117144233, 7.38905609893065, 0.5621765008857981,
        0.679178699175393, 0.3775406687981454,
      ],
      [2, 3],
    );
  });
});
