import { describe, expect, it } from 'vitest';
import { isTesseraError } from '@tessera/shared';
import { type Tensor, manualSeed, ones, zeros } from '@tessera/tensor';
import { init } from '../src/index.js';
import { thrownBy } from './thrown-by.js';

function values(tensor: Tensor): number[] {
  return Array.from(tensor.toTypedArray() as Float32Array);
}

function moments(list: readonly number[]): { mean: number; std: number } {
  const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
  const variance = list.reduce((sum, value) => sum + (value - mean) ** 2, 0) / list.length;
  return { mean, std: Math.sqrt(variance) };
}

describe('truncNormal_', () => {
  it('keeps values within the bounds, with the spread of the cut distribution', () => {
    manualSeed(0);
    const drawn = values(init.truncNormal_(zeros([200, 200]), { mean: 1, std: 2, a: -1, b: 3 }));
    expect(Math.min(...drawn.slice(0, 40_000))).toBeGreaterThanOrEqual(-1);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(3);
    const { mean, std } = moments(drawn);
    // Within one deviation of the mean: variance 1 - 2φ(1)/(2Φ(1) - 1) = 0.2912 of the whole.
    expect(mean).toBeCloseTo(1, 1);
    expect(std / 2).toBeCloseTo(Math.sqrt(0.2912), 2);
  });
});

describe('orthogonal_', () => {
  it.each([
    [4, 4],
    [6, 3],
    [3, 7],
  ])('makes the fewer of %i rows and %i columns orthonormal', (rows, columns) => {
    manualSeed(1);
    const weight = init.orthogonal_(zeros([rows, columns]), { gain: 2 });
    const product = rows <= columns ? weight.matmul(weight.t()) : weight.t().matmul(weight);
    const size = Math.min(rows, columns);
    values(product).forEach((value, i) =>
      expect(value).toBeCloseTo(Math.floor(i / size) === i % size ? 4 : 0, 5),
    );
  });

  it('takes kernels as rows of output channels, and draws without preferred signs', () => {
    manualSeed(2);
    const kernel = init.orthogonal_(zeros([4, 2, 3, 3]));
    const rows = kernel.reshape([4, 18]);
    values(rows.matmul(rows.t())).forEach((value, i) =>
      expect(value).toBeCloseTo(i % 5 === 0 ? 1 : 0, 5),
    );
    const signs = Array.from({ length: 40 }, () =>
      Math.sign(values(init.orthogonal_(zeros([2, 2])))[0]!),
    );
    expect(new Set(signs).size).toBe(2);
  });
});

describe('structured initialisers', () => {
  it('eye_ is the identity', () => {
    expect(init.eye_(ones([2, 3])).toArray()).toEqual([
      [1, 0, 0],
      [0, 1, 0],
    ]);
  });

  it('dirac_ passes channels on, per group', () => {
    expect(init.dirac_(ones([4, 2, 3]), { groups: 2 }).toArray()).toEqual([
      [
        [0, 1, 0],
        [0, 0, 0],
      ],
      [
        [0, 0, 0],
        [0, 1, 0],
      ],
      [
        [0, 1, 0],
        [0, 0, 0],
      ],
      [
        [0, 0, 0],
        [0, 1, 0],
      ],
    ]);
    expect(
      init
        .dirac_(ones([1, 1, 3, 3]))
        .sum()
        .item(),
    ).toBe(1);
  });

  it('sparse_ sets a share of each column to zero', () => {
    manualSeed(3);
    const weight = init.sparse_(ones([10, 4]), 0.25, { std: 0.5 });
    expect(weight.eq(0).sum(0).toArray()).toEqual([3, 3, 3, 3]);
    expect(Math.abs(moments(values(weight)).std - 0.43)).toBeLessThan(0.2);
  });

  it('refuse tensors of other ranks', () => {
    for (const fail of [
      () => init.eye_(ones([2])),
      () => init.dirac_(ones([2, 2])),
      () => init.sparse_(ones([2]), 0.5),
      () => init.orthogonal_(ones([2])),
    ])
      expect(isTesseraError(thrownBy(fail), 'shape-mismatch')).toBe(true);
    expect(
      isTesseraError(
        thrownBy(() => init.dirac_(ones([3, 2, 1]), { groups: 2 })),
        'invalid-argument',
      ),
    ).toBe(true);
  });
});

describe('calculateGain', () => {
  it('knows every kind of convolution', () => {
    for (const kind of [
      'conv3d',
      'conv_transpose1d',
      'conv_transpose2d',
      'conv_transpose3d',
    ] as const)
      expect(init.calculateGain(kind)).toBe(1);
  });
});
