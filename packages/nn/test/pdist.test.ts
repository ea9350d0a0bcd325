/**
 * @file Distances of all pairs of points, and activations made of operators, beside PyTorch 2.13.
 */
import { functional as F } from '@tessera/nn';
import { arange, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';

// The fourth point is the second one again: their distance is zero.
const POINTS = [
  [0.8032760780963507, 0.17483339327910358, 0.08897809502587893],
  [-0.6137180077293578, 0.04618245168476012, -1.3682591776659836],
  [0.33749509853046344, 1.0111158511791591, -1.4351793230898824],
  [-0.6137180077293578, 0.04618245168476012, -1.3682591776659836],
  [-0.864635562911604, 0.29896084440536186, 0.41921865516194434],
];

/** By order: distances, and the gradient of their sum weighted by 1, 2, 3, … */
const EXPECTED: readonly (readonly [number, readonly number[], readonly number[]])[] = [
  [
    0.0,
    [3.0, 3.0, 3.0, 3.0, 3.0, 0.0, 3.0, 3.0, 3.0, 3.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
  ],
  [
    1.0,
    [
      3.0028823, 2.826220856, 3.0028823, 2.122279652, 1.983066651, 0.0, 2.291173781, 1.983066651,
      3.768683646, 2.291173781,
    ],
    [10.0, -2.0, 2.0, 1.0, -13.0, -3.0, 20.0, 24.0, -24.0, -1.0, -21.0, -5.0, -30.0, 12.0, 30.0],
  ],
  [
    2.0,
    [
      2.036655045, 1.799826688, 2.036655045, 1.704815443, 1.356606481, 0.0, 1.822617222,
      1.356606481, 2.321868804, 1.822617222,
    ],
    [
      7.213980039, -0.96786078, 3.780850327, -3.237918972, -4.590419638, -7.333902391, 13.257323029,
      12.93643967, -9.522944511, -6.319916981, -7.266678544, -11.559086661, -10.913467114,
      -0.111480707, 24.635083236,
    ],
  ],
  [
    3.0,
    [
      1.811223567, 1.616830712, 1.811223567, 1.672443901, 1.207227092, 0.0, 1.79080483, 1.207227092,
      2.038847982, 1.79080483,
    ],
    [
      6.592561455, -0.536918402, 4.210602059, -3.5788186, -3.3388966, -7.605966709, 11.033688013,
      9.938505827, -9.262485844, -6.606548183, -5.325388719, -11.880243932, -7.440882685,
      -0.737302107, 24.538094426,
    ],
  ],
  [
    Infinity,
    [
      1.457237273, 1.524157418, 1.457237273, 1.667911641, 0.964933399, 0.0, 1.787477833,
      0.964933399, 1.854397978, 1.787477833,
    ],
    [4.0, 0.0, 6.0, 0.0, -5.0, -8.0, 0.0, 13.0, -11.0, 0.0, -8.0, -13.0, -4.0, 0.0, 26.0],
  ],
];

const close = (actual: unknown, expected: readonly number[]): void => {
  expect(actual).toHaveLength(expected.length);
  expected.forEach((value, i) => expect((actual as number[])[i]).toBeCloseTo(value, 7));
};

describe('pdist', () => {
  it.each(EXPECTED)('of order %d', (p, distances, gradient) => {
    const x = tensor(POINTS, { dtype: 'float64', requiresGrad: true });
    const y = F.pdist(x, { p });
    close(y.toArray(), distances);
    y.mul(arange(1, 11, { dtype: 'float64' }))
      .sum()
      .backward();
    close(x.grad!.reshape([-1]).toArray(), gradient);
  });

  it('of no pairs is empty', () => {
    expect(F.pdist(randn([1, 3])).shape).toEqual([0]);
    expect(F.pdist(randn([0, 3])).shape).toEqual([0]);
  });

  it('of many points keeps small distances', () => {
    const x = arange(40, { dtype: 'float32' }).div(1000).add(1000).reshape([40, 1]);
    const expected = x
      .narrow(0, 1, 1)
      .sub(x.narrow(0, 0, 1))
      .item();
    expect(F.pdist(x).narrow(0, 0, 1).item()).toBe(expected);
  });

  it('wants points as rows', () => {
    expect(() => F.pdist(randn([2, 3, 4]))).toThrow('pdist only supports 2D tensors, got: 3D');
    expect(() => F.pdist(randn([2, 3]), { q: 1 } as never)).toThrow("'q'");
  });
});

it('softsign and tanhshrink', () => {
  const x = tensor([-2, -0.5, 0, 3], { dtype: 'float64' });
  close(F.softsign(x).toArray(), [-2 / 3, -1 / 3, 0, 0.75]);
  close(
    F.tanhshrink(x).toArray(),
    [-2, -0.5, 0, 3].map((v) => v - Math.tanh(v)),
  );
});
