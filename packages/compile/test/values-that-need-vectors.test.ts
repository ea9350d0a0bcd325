/**
 * @file Singular values and eigenvalues alone, where what is differentiated is not the tensor at hand: inside of `vmap`,
 * and behind a write that has not run yet. Their derivatives need the vectors. Numbers are those of PyTorch 2.13.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { grad, vmap } from '@tessera/tensor/func';
import { eigvalsh, matrixNorm, svdvals } from '@tessera/tensor/linalg';
import { describe, it } from 'vitest';
import { compile } from '../src/index.js';
import { close } from './close.js';

type Fn = (x: Tensor) => Tensor;

describe.each<[name: string, run: (fn: Fn) => Fn]>([
  ['eager', (fn) => fn],
  ['compiled', (fn) => compile(fn)],
])('%s', (_, run) => {
  const data = [
    [
      [2, 0.5],
      [0.5, 1],
    ],
    [
      [1, -1],
      [-1, 3],
    ],
  ];

  const [near, far, off] = [2.7071066, 1.2928932, Math.SQRT1_2];
  it.each<[name: string, fn: Fn, weights: Tensor, expected: unknown]>([
    [
      'svdvals',
      (x) => svdvals(x),
      tensor([1, 3]),
      [
        [
          [far, -off],
          [-off, near],
        ],
        [
          [near, off],
          [off, far],
        ],
      ],
    ],
    [
      'eigvalsh',
      (x) => eigvalsh(x),
      tensor([1, 3]),
      [
        [
          [near, off],
          [off, far],
        ],
        [
          [far, -off],
          [-off, near],
        ],
      ],
    ],
    [
      'matrixNorm',
      (x) => matrixNorm(x, 'nuc'),
      tensor(2),
      [
        [
          [2, 0],
          [0, 2],
        ],
        [
          [2, 0],
          [0, 2],
        ],
      ],
    ],
  ])('%s of each example has a gradient', (_, fn, weights, expected) => {
    const inside = run(vmap(fn));
    const of = run(vmap(grad((x: Tensor) => fn(x).mul(weights).sum())));
    for (const _ of [0, 1]) {
      const x = tensor(data, { dtype: 'float32' }).requiresGrad_();
      inside(x).mul(weights).sum().backward();
      close(x.grad!, expected);
      close(of(tensor(data, { dtype: 'float32' })), expected);
    }
  });

  it('a write of what takes gradients lets them in', () => {
    const fn = run((x) => {
      const y = tensor([
        [0, 0],
        [0, 1.5],
      ]);
      y.select(0, 0).copy_(x);
      return svdvals(y).add(eigvalsh(y.add(y.t())));
    });
    for (const _ of [0, 1, 2]) {
      const x = tensor([1, 0.5]).requiresGrad_();
      fn(x)
        .mul(tensor([1, 2]))
        .sum()
        .backward();
      close(x.grad!, [4.1173172, 0.6477275]);
    }
  });
});
