/**
 * @file `@tessera/tensor/more` with what PyTorch 2.13 gives, and `ormqr`.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange, eye, grad, ones, tensor, zeros } from '../src/index.js';
import { geqrf, householderProduct, ormqr } from '../src/linalg.js';
import { histogramdd, unravelIndex } from '../src/more.js';

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;
const rows = (list: readonly Tensor[]): unknown[] => list.map((each) => each.toArray());

describe('unravelIndex', () => {
  it('gives a tensor of int64 for each dimension', () => {
    expect(rows(unravelIndex(tensor([4, 1], { dtype: 'int64' }), [3, 2]))).toEqual([
      [2, 0],
      [0, 1],
    ]);
    const [row, column] = unravelIndex(tensor(5, { dtype: 'int32' }), [3, 2]);
    expect([row!.item(), column!.item(), row!.dtype]).toEqual([2, 1, 'int64']);
    expect(
      rows(unravelIndex(tensor([[1234], [5678]], { dtype: 'int64' }), [10, 10, 10, 10])),
    ).toEqual([
      [[1], [5]],
      [[2], [6]],
      [[3], [7]],
      [[4], [8]],
    ]);
  });

  it('takes a number, no dimension, and what is outside', () => {
    expect(rows(unravelIndex(tensor([4, 1], { dtype: 'int64' }), 7))).toEqual([[4, 1]]);
    expect(unravelIndex(tensor([0], { dtype: 'int64' }), [])).toEqual([]);
    expect(rows(unravelIndex(tensor([-1, 100], { dtype: 'int64' }), [3, 2]))).toEqual([
      [2, 2],
      [1, 0],
    ]);
    expect(rows(unravelIndex(tensor([5], { dtype: 'uint8' }), [3, 2]))).toEqual([[2], [1]]);
  });

  it('refuses in the words of PyTorch', () => {
    const index = tensor([0], { dtype: 'int64' });
    expect(() => unravelIndex(tensor([4]), 7)).toThrow(
      "expected 'indices' to be integer dtype, but got torch.float32",
    );
    expect(() => unravelIndex(tensor([true]), 7)).toThrow('but got torch.bool');
    expect(() => unravelIndex(index, [3, -2])).toThrow(
      "'shape' cannot have negative values, but got (3, -2)",
    );
    expect(() => unravelIndex(index, [3, 2.5])).toThrow(
      "expected 'shape' sequence to only contain ints",
    );
  });
});

describe('histogramdd', () => {
  const x = tensor([
    [0, 1],
    [1, 0],
    [2, 0],
    [2, 2],
  ]);
  const edges = [tensor([0, 1, 3]), tensor([0, 0.5, 1, 2])];

  it('counts in equal bins', () => {
    const [hist, ends] = histogramdd(x, [3, 3], { weight: tensor([1, 2, 4, 8]) });
    expect(hist.toArray()).toEqual([
      [0, 1, 0],
      [2, 0, 0],
      [4, 0, 8],
    ]);
    expect(ends.map(({ sizes }) => sizes)).toEqual([[4], [4]]);
    expect(ends[0]!.allclose(tensor([0, 2 / 3, 4 / 3, 2]))).toBe(true);
    expect(histogramdd(x, 3)[0].toArray()).toEqual([
      [0, 1, 0],
      [1, 0, 0],
      [1, 0, 1],
    ]);
    expect(histogramdd(x.reshape([2, 2, 2]), [2, 2])[0].toArray()).toEqual([
      [0, 1],
      [2, 1],
    ]);
  });

  it('has a range and a density', () => {
    const points = tensor([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
    const [hist, ends] = histogramdd(points, [2, 2], { range: [0, 1, 0, 1], density: true });
    expect(hist.toArray()).toEqual([
      [2, 0],
      [0, 2],
    ]);
    expect(rows(ends)).toEqual([
      [0, 0.5, 1],
      [0, 0.5, 1],
    ]);
  });

  it('counts between given edges', () => {
    expect(histogramdd(x, edges, { density: true })[0].toArray()).toEqual([
      [0, 0, 0.25],
      [0.5, 0, 0.125],
    ]);
    const [hist, ends] = histogramdd(x, edges, { weight: tensor([1, 2, 3, 4]) });
    expect(hist.toArray()).toEqual([
      [0, 0, 1],
      [5, 0, 4],
    ]);
    expect(ends).toEqual(edges);
  });

  it('counts none, one place and what is no number', () => {
    expect(histogramdd(zeros([0, 2]), 2)[0].toArray()).toEqual([
      [0, 0],
      [0, 0],
    ]);
    const [hist, ends] = histogramdd(ones([3, 2]), [2, 1]);
    expect(hist.toArray()).toEqual([[0], [3]]);
    expect(rows(ends)).toEqual([
      [0.5, 1, 1.5],
      [0.5, 1.5],
    ]);
    const gap = tensor([
      [0, nan],
      [1, 1],
    ]);
    expect(histogramdd(gap, [2, 1], { range: [0, 1, 0, 1] })[0].toArray()).toEqual([[0], [1]]);
    expect(histogramdd(zeros([3, 0]), [])[0].item()).toBe(0);
  });

  it.each<[string, () => unknown, string]>([
    [
      'a vector',
      () => histogramdd(tensor([0, 1]), [2]),
      'torch.histogramdd: input tensor should have at least 2 dimensions',
    ],
    [
      'too few numbers',
      () => histogramdd(x, [2]),
      'histogramdd: The size of bins must be equal to the innermost dimension of the input.',
    ],
    [
      'no bin',
      () => histogramdd(x, [2, 0]),
      'torch.histogram(): bins must be > 0, but got 0 for dimension 1',
    ],
    [
      'too few edges',
      () => histogramdd(x, [tensor([0, 1])]),
      'torch.histogramdd: expected 2 sequences of bin edges for a 2-dimensional histogram but got 1',
    ],
    [
      'edges of another dtype',
      () => histogramdd(x, [edges[0]!, tensor([0, 1], { dtype: 'float64' })]),
      'but got input with dtype float and bins for dimension 1 with dtype double',
    ],
    [
      'edges of two dimensions',
      () => histogramdd(x, [edges[0]!, zeros([1, 2])]),
      'torch.histogramdd: bins tensor should have one dimension, but got 2 dimensions in the bins tensor for dimension 1',
    ],
    [
      'one edge',
      () => histogramdd(x, [edges[0]!, zeros([1])]),
      'torch.histogram(): bins must be > 0, but got 0 for dimension 1',
    ],
    [
      'no edge',
      () => histogramdd(x, [edges[0]!, zeros([0])]),
      'torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 1',
    ],
    [
      'a short range',
      () => histogramdd(x, 2, { range: [0, 1] }),
      'torch.histogramdd: for a 2-dimensional histogram range should have 4 elements, but got 2',
    ],
    [
      'a range backwards',
      () => histogramdd(x, 2, { range: [0, 1, 1, 0] }),
      'torch.histogramdd: min should not exceed max, but got min 1 max 0 for dimension 1',
    ],
    [
      'a range without end',
      () => histogramdd(x, 2, { range: [0, 1, 1, inf] }),
      "torch.histogramdd: dimension 1's range [1, inf] is not finite",
    ],
    [
      'no number',
      () => histogramdd(tensor([[0, nan]]), 2),
      "torch.histogramdd: dimension 1's range [nan, nan] is not finite",
    ],
    [
      'too few weights',
      () => histogramdd(x, 2, { weight: tensor([1, 2]) }),
      'torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, but got input with shape [4, 2] and weight with shape [2]',
    ],
    [
      'weights of another dtype',
      () => histogramdd(x, 2, { weight: ones([4], { dtype: 'float64' }) }),
      'torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(float), and weight(double)',
    ],
    ['integers', () => histogramdd(x.to('int64'), 2), '"histogramdd" not implemented for \'Long\''],
  ])('refuses %s', (_name, run, message) => {
    expect(run).toThrow(message);
  });
});

describe('ormqr', () => {
  const a = tensor(
    [
      [1, 2],
      [3, 4],
      [5, 7],
    ],
    { dtype: 'float64' },
  );
  const [h, tau] = geqrf(a);
  const c = arange(12, { dtype: 'float64' }).reshape([3, 4]);

  it('multiplies with q on both sides, and transposed', () => {
    const q = ormqr(h, tau, eye(3, { dtype: 'float64' }));
    expect(q.narrow(1, 0, 2).allclose(householderProduct(h, tau))).toBe(true);
    expect(ormqr(h, tau, c).allclose(q.matmul(c))).toBe(true);
    expect(ormqr(h, tau, c, { transpose: true }).allclose(q.t().matmul(c))).toBe(true);
    expect(ormqr(h, tau, c.t(), { left: false }).allclose(c.t().matmul(q))).toBe(true);
    const last = ormqr(h, tau, c.t(), { left: false, transpose: true });
    expect(last.allclose(c.t().matmul(q.t()))).toBe(true);
    expect(
      ormqr(h, tau, c)
        .select(0, 0)
        .allclose(tensor([1.6566, 2.169, 2.6814, 3.1938], { dtype: 'float64' }), { atol: 1e-4 }),
    ).toBe(true);
    const [many, taus] = [h.expand([2, 3, 2]), tau.expand([2, 2])];
    expect(
      ormqr(many, taus, c.expand([2, 3, 4]))
        .select(0, 1)
        .allclose(q.matmul(c)),
    ).toBe(true);
  });

  it('has the derivatives of PyTorch', () => {
    const leaves = [h, tau, c].map((x) => x.detach().clone().requiresGrad_());
    const loss = ormqr(leaves[0]!, leaves[1]!, leaves[2]!).mul(c.sin()).sum();
    const [dh, dtau, dc] = grad([loss], leaves);
    const close = (got: Tensor, wanted: number[] | number[][]): void =>
      expect(got.allclose(tensor(wanted, { dtype: 'float64' }), { atol: 2e-3 })).toBe(true);
    close(dh!, [
      [0, 0],
      [10.454, 0],
      [-2.823, 60.566],
    ]);
    close(dtau!, [1.4528, 19.4525]);
    close(dc!.select(0, 0), [-0.4524, -0.0043, 0.4478, 0.4881]);
  });

  it.each<[string, () => unknown, string]>([
    [
      'sizes',
      () => ormqr(h, tau, c.t()),
      'torch.ormqr: other.shape[-2] must be equal to input.shape[-2]',
    ],
    [
      'a short tau',
      () => ormqr(h, tau.narrow(0, 0, 1), c),
      'torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])',
    ],
    [
      'a vector',
      () => ormqr(h.select(0, 0), tau, c),
      'torch.ormqr: input must have at least 2 dimensions.',
    ],
    [
      'another vector',
      () => ormqr(h, tau, c.select(0, 0)),
      'torch.ormqr: other must have at least 2 dimensions.',
    ],
    [
      'batches',
      () => ormqr(h.expand([2, 3, 2]), tau.expand([2, 2]), c),
      'torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to 2 and input.ndim is equal to 3',
    ],
    [
      'dims of tau',
      () => ormqr(h, tau.unsqueeze(0), c),
      'torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to 2 and input.ndim is equal to 2',
    ],
    [
      'batches of tau',
      () => ormqr(h.expand([2, 3, 2]), tau.expand([3, 2]), c.expand([2, 3, 4])),
      'torch.ormqr: Expected batch dimensions of tau to be equal to input.shape[:-2], but got [3]',
    ],
    [
      'dtypes',
      () => ormqr(h, tau, c.to('float32')),
      'torch.ormqr: Expected input and other to have the same dtype, but input has dtypeDouble and other has dtype Float',
    ],
  ])('refuses %s', (_name, run, message) => {
    expect(run).toThrow(message);
  });
});
