/**
 * @file Joins with nothing, sums to no dimensions and norms by name, with what PyTorch 2.13 gives.
 */
import { describe, expect, it } from 'vitest';
import { cat, norm, ones, tensor, zeros } from '../src/index.js';
import * as linalg from '../src/linalg.js';

describe('the gradient of what is joined', () => {
  it.each<[number, number[][]]>([
    [0, [[0], [2, 3]]],
    [1, [[2, 3], [0]]],
    [-2, [[0], [2, 3], [0], [1, 3]]],
    [0, [[0], [0]]],
    [0, [[0], [0, 3]]],
  ])('in dimension %s of %j is of its shape, also of nothing', (dim, shapes) => {
    const parts = shapes.map((sizes) => ones(sizes, { requiresGrad: true }));
    cat(parts, dim).sum().backward();
    expect(parts.map(({ grad }) => grad?.sizes)).toEqual(shapes);
  });

  it('has the dtype of the part', () => {
    const parts = [
      ones([0], { dtype: 'float64', requiresGrad: true }),
      ones([2, 3], { requiresGrad: true }),
    ];
    cat(parts).sum().backward();
    expect(parts.map(({ grad }) => grad?.dtype)).toEqual(['float64', 'float32']);
  });
});

it('a sum to no dimensions is a sum: of int64 for integers', () => {
  const whole = tensor(3, { dtype: 'int8' }).sumToSize([]);
  expect([whole.dtype, whole.item()]).toEqual(['int64', 3]);
  expect(tensor(true).sumToSize([]).dtype).toBe('int64');
  expect(tensor([2], { dtype: 'int8' }).sumToSize([1]).dtype).toBe('int8');
  expect(tensor(2.5).sumToSize([]).item()).toBe(2.5);
});

describe('norms by name', () => {
  const m = tensor([
    [0, 1, 2],
    [3, 4, 5],
  ]);

  it("'fro' is that of all elements, or of dims", () => {
    expect(norm(m, 'fro').item()).toBeCloseTo(7.4162, 4);
    expect(m.norm('fro', 0).allclose(m.norm(2, 0))).toBe(true);
    const zero = zeros([2, 2], { requiresGrad: true });
    norm(zero, 'fro').backward();
    expect(zero.grad!.toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  it("'nuc' is one of linalg, with a gradient", () => {
    const x = m.clone().requiresGrad_();
    const y = linalg.norm(x, 'nuc');
    expect(y.item()).toBeCloseTo(8.3485, 4);
    y.backward();
    const wanted = tensor([
      [-0.6846, 0.022, 0.7286],
      [0.6039, 0.5769, 0.55],
    ]);
    expect(x.grad!.allclose(wanted, { atol: 1e-4 })).toBe(true);
  });

  const [vector, cube] = [m.select(0, 0), m.expand([2, 2, 3])];
  it.each<[string, () => unknown, string]>([
    [
      'an unknown name',
      () => linalg.norm(m, 'foo' as 'fro'),
      'linalg.matrix_norm: Order foo not supported.',
    ],
    ['an order of none', () => linalg.norm(m, 3), 'linalg.matrix_norm: Order 3 not supported.'],
    [
      'a vector',
      () => linalg.norm(vector, 'fro'),
      'linalg.matrix_norm: The input tensor A must have at least 2 dimensions.',
    ],
    ['a dim', () => linalg.norm(m, 'nuc', 0), 'linalg.matrix_norm: dim must be a 2-tuple. Got 0'],
    [
      'three dims',
      () => linalg.matrixNorm(cube, 'fro', [0, 1, 2]),
      'linalg.matrix_norm: dim must be a 2-tuple. Got 0 1 2',
    ],
    [
      'three dims of any',
      () => linalg.norm(cube, 'fro', [0, 1, 2]),
      'linalg.norm: If dim is specified, it must be of length 1 or 2. Got [0, 1, 2]',
    ],
    [
      'more than a matrix',
      () => linalg.norm(cube, 'nuc'),
      'linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got 3D.',
    ],
    [
      'equal dims',
      () => linalg.matrixNorm(m, 1, [0, -2]),
      'linalg.matrix_norm: dims must be different. Got (0, 0)',
    ],
    [
      'integers',
      () => linalg.norm(m.to('int64'), 'fro'),
      'linalg.matrix_norm: Expected a floating point or complex tensor as input. Got Long',
    ],
    [
      'halves',
      () => linalg.norm(m.to('float16'), 'nuc'),
      'linalg.matrix_norm: Low precision dtypes not supported. Got Half',
    ],
    [
      'a whole result',
      () => linalg.norm(m, 'fro', null, { dtype: 'int64' }),
      'linalg.matrix_norm: dtype should be floating point or complex, but got Long',
    ],
    [
      'a narrower result',
      () => linalg.norm(m.to('float64'), 'fro', null, { dtype: 'float32' }),
      'linalg.matrix_norm: the dtype of the input (Double) should be convertible without narrowing to the specified dtype (Float)',
    ],
  ])('%s is refused', (_name, run, message) => {
    expect(run).toThrow(message);
  });
});
