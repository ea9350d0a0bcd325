/**
 * @file Numbers that decide which operators a composite one is made of: each value is traced, none is taken for another.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, full, gradient, histc, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/node.js';

const x = tensor([
  [0.5, -2, 3],
  [1, 4, -0.25],
]);
const v = tensor([1, 2, 3]);
const labels = tensor([0, 2], { dtype: 'int64' });

const FUNCTIONS: Readonly<Record<string, (by: number) => Tensor>> = {
  'addr, beta': (beta) => x.addr(v.narrow(0, 0, 2), v, { beta }),
  'addr, alpha': (alpha) => x.addr(v.narrow(0, 0, 2), v, { alpha }),
  'renorm, maxnorm': (maxnorm) => x.renorm(2, 0, maxnorm),
  'renorm, p': (p) => x.renorm(p + 1, 0, 1),
  'gradient, spacing': (by) => gradient(x, { spacing: by + 1 })[0]!,
  'multiMarginLoss, p': (p) => F.multiMarginLoss(x, labels, { p: p % 2 === 0 ? 2 : 1 }),
  'multiMarginLoss, margin': (margin) => F.multiMarginLoss(x, labels, { margin }),
  'histc, max': (max) => histc(x, { bins: 4, min: -1, max: max + 1 }),
  'histc, of halves': (max) => histc(x.to('float16'), { bins: 4, min: -1, max: max + 1 }),
};

/** Whole numbers and fractions in turns: both become symbols or scalars of a run if anything lets them. */
const VALUES = [3, 4, 2.5, 1.5, 1, 2, 0, 0.25, 5, 3];

describe('a number that decides', () => {
  it.each(Object.entries(FUNCTIONS))('%s', (_, fn) => {
    const compiled = compile(fn);
    const results = (call: (by: number) => Tensor): unknown[] =>
      VALUES.map((by) =>
        ([call(by).toArray()].flat(2) as number[]).map((value) => value.toPrecision(5)),
      );
    const eager = config.patch({ 'eager.kernels': 'reference' }, () => results(fn));
    expect(results(compiled)).toEqual(eager);
  });

  it('is refused as in eager code', () => {
    const limited = compile((maxnorm: number) => x.renorm(2, 0, maxnorm));
    for (const maxnorm of [1, 2, 3]) limited(maxnorm);
    expect(() => limited(-1)).toThrow('expected maxnorm to be >= 0');
    const loss = compile((p: number) => F.multiMarginLoss(x, labels, { p }));
    for (const p of [1, 2]) loss(p);
    expect(() => loss(3)).toThrow('only p == 1 and p == 2 supported, got 3');
  });

  const bytes = tensor([1, 2, 3], { dtype: 'uint8' });
  const filled: Readonly<Record<string, (by: number) => Tensor>> = {
    full: (by) => full([2], by, { dtype: 'uint8' }),
    fill_: (by) => bytes.clone().fill_(by),
    maskedFill: (by) => bytes.maskedFill(bytes.gt(1), by),
  };
  it.each(Object.entries(filled))('is refused by %s in a later call', (_, fn) => {
    const compiled = compile(fn);
    for (const by of [4, 5, 6, -1]) expect(compiled(by).toArray()).toEqual(fn(by).toArray());
    for (const call of [fn, compiled])
      expect(() => call(300)).toThrow('value cannot be converted to type uint8 without overflow');
    expect(compiled(7).toArray()).toEqual(fn(7).toArray());
  });

  it('is refused by quantile before anything is computed', () => {
    for (const call of [(q: number) => v.quantile(q), compile((q: number) => v.quantile(q))])
      expect(() => call(1.5)).toThrow('quantile() q must be in the range [0, 1] but got 1.5');
  });

  it('is one element of topk without dimensions', () => {
    const none = compile((k: number) => tensor(5).topk(k)[0]);
    expect([none(0).item(), none(1).item()]).toEqual([5, 5]);
  });
});

describe('a step that varies', () => {
  const long = tensor([1, 2, 3, 4, 5, 6]);
  const image = long.reshape([1, 1, 6]);
  const refused: Readonly<Record<string, [(step: number) => Tensor, string]>> = {
    slice: [(step) => long.slice(0, 0, 5, step), 'slice step must be positive'],
    unfold: [(step) => long.unfold(0, 2, step), 'unfold: step is 0 but must be > 0'],
    chunk: [(count) => long.chunk(count)[0]!, 'chunk expects `chunks` to be greater than 0'],
    conv1d: [
      (stride) => F.conv1d(image, image.narrow(2, 0, 2), { stride }),
      'stride should be greater than zero',
    ],
  };

  it.each(Object.entries(refused))('is refused by %s as in eager code', (_, [fn, message]) => {
    const compiled = compile(fn);
    for (const step of [1, 2, 3]) expect(compiled(step).sizes).toEqual(fn(step).sizes);
    for (const call of [fn, compiled]) expect(() => call(0)).toThrow(message);
    expect(compiled(4).toArray()).toEqual(fn(4).toArray());
  });
});

describe('an integer that is no size', () => {
  const cube = tensor([[[1, 2]], [[3, 4]], [[5, 6]]]);
  const dims: Readonly<Record<string, (dim: number) => Tensor>> = {
    any: (dim) => cube.any(dim, { keepdim: true }),
    sum: (dim) => cube.sum(dim),
    unsqueeze: (dim) => cube.unsqueeze(dim),
    var: (dim) => cube.var(dim, { keepdim: true, correction: 0 }),
    'diagEmbed, offset': (offset) => v.diagEmbed(offset),
    'diagonal, offset': (offset) => x.diagonal(offset),
    cumsum: (dim) => cube.cumsum(dim),
  };

  describe('where an operator may give its operand itself', () => {
    const ends = [-1, 0, -2, 2, 1, 0, -1, 1];
    const fns: Readonly<Record<string, (t: Tensor, end: number) => Tensor>> = {
      'it is the result': (t, end) => t.flatten(0, end),
      'it is computed with': (t, end) => t.flatten(0, end).mul(2).add(t.sum()),
      'it is written to': (t, end) => t.clone().flatten(0, end).add_(1),
    };
    it.each(Object.entries(fns))('%s', (_, fn) => {
      const compiled = compile(fn);
      for (const end of ends) {
        const leaves = [ones([3, 2, 4]), ones([3, 2, 4])].map((t) => t.requiresGrad_());
        const [got, want] = [compiled(leaves[0]!, end), fn(leaves[1]!, end)];
        expect([end, got.sizes, got.toArray()]).toEqual([end, want.sizes, want.toArray()]);
        expect(got === leaves[0]).toBe(want === leaves[1]);
        for (const result of [got, want]) result.sum().backward();
        expect(leaves[0]!.grad!.toArray()).toEqual(leaves[1]!.grad!.toArray());
      }
    });
  });

  it.each(Object.entries(dims))('decides what %s gives', (_, fn) => {
    const compiled = compile(fn);
    for (const dim of [-2, -3, -1, 0, 2, 1, -1, 0, -2]) {
      const [got, want] = [compiled(dim), fn(dim)];
      expect([dim, got.sizes, got.toArray()]).toEqual([dim, want.sizes, want.toArray()]);
    }
  });
});

it('a whole number after a fraction that decides is no size that was a fraction', () => {
  const spread = compile((t: Tensor, dim: number[], correction: number) =>
    t.var(dim, { correction, keepdim: true }),
  );
  const [small, large] = [ones([5, 5]).mul(2), ones([5, 5, 5])];
  for (const [t, dim, correction] of [
    [small, [0], 0.5],
    [small, [0, 1], 0.5],
    [large, [0, 2], 1],
    [small, [0], 2],
  ] as const) {
    const [got, want] = [
      spread(t, [...dim], correction),
      t.var([...dim], { correction, keepdim: true }),
    ];
    expect([got.sizes, got.toArray()]).toEqual([want.sizes, want.toArray()]);
  }
});
