/**
 * @file `vmap` gives what a loop over the examples gives, for every kind of operator.
 */
import { describe, expect, it, vi } from 'vitest';
import type { TesseraError } from '@tessera/shared';
import * as api from '../src/index.js';
import * as internal from '../src/internal.js';
import { type Tensor, manualSeed, ones, rand, randn, stack, tensor, zeros } from '../src/index.js';
import { grad, gradAndValue, jacrev, vmap } from '../src/func/index.js';

const t = { ...api, ...internal };

type Fn = (...args: Tensor[]) => Tensor;

function close(actual: Tensor, expected: Tensor): void {
  expect(actual.sizes).toEqual(expected.sizes);
  expect(actual.dtype).toBe(expected.dtype);
  const [a, b] = [actual, expected].map((x) =>
    Array.from(x.contiguous().toTypedArray() as ArrayLike<number>, Number),
  );
  a!.forEach((value, i) => {
    if (!Object.is(value, b![i]) && !(Math.abs(value - b![i]!) <= 1e-5 + 1e-5 * Math.abs(b![i]!)))
      expect.fail(`element ${i}: ${value}, a loop gives ${b![i]}`);
  });
}

/** Compares with a loop, for the batch of each argument in front, behind, or absent, and nested. */
function check(fn: Fn, ...examples: (() => Tensor)[]): void {
  const batch = 3;
  const whole = examples.map((make) => stack(Array.from({ length: batch }, make), 0));
  const pick = (shared: readonly boolean[], i: number): Tensor[] =>
    whole.map((x, a) => x.select(0, shared[a]! ? 0 : i));
  for (let bits = 0; bits < 2 ** examples.length - 1; bits++) {
    const shared = examples.map((_, a) => (bits & (1 << a)) !== 0);
    const expected = stack(
      Array.from({ length: batch }, (_, i) => fn(...pick(shared, i))),
      0,
    );
    const front = whole.map((x, a) => (shared[a]! ? x.select(0, 0) : x));
    close(vmap(fn, { inDims: shared.map((s) => (s ? null : 0)) })(...front), expected);
    const back = whole.map((x, a) => (shared[a]! ? x.select(0, 0) : x.movedim(0, -1)));
    close(vmap(fn, { inDims: shared.map((s) => (s ? null : -1)) })(...back), expected);
  }
  // Two levels: [2, 3, …] is a loop of what was checked above.
  const two = whole.map((x) => stack([x, x.flip([0])], 0));
  const expected = stack(
    [0, 1].map((o) =>
      stack(
        [0, 1, 2].map((i) => fn(...two.map((x) => x.select(0, o).select(0, i)))),
        0,
      ),
    ),
    0,
  );
  close(vmap(vmap(fn))(...two), expected);
}

const r =
  (...sizes: number[]) =>
  (): Tensor =>
    randn(sizes);
const positive =
  (...sizes: number[]) =>
  (): Tensor =>
    rand(sizes).add(0.2);
const ids =
  (high: number, ...sizes: number[]) =>
  (): Tensor =>
    t.randint(0, high, sizes);

const CASES: Record<string, [Fn, ...(() => Tensor)[]]> = {
  'add of different ranks': [(x, y) => x.add(y), r(2, 3), r(3)],
  'add of a number and a matrix': [(x, y) => x.mul(y), r(), r(2, 3)],
  'unary chain': [(x) => x.exp().sin().relu().neg(), r(4)],
  where: [(c, x) => t.where(c.gt(0), x, c), r(3), r(2, 3)],
  'clamp, pow, comparisons': [(x) => x.clamp(-1, 1).pow(2).gt(0.3), r(3)],
  'sum over all': [(x) => x.sum(), r(2, 3)],
  'sum of a number': [(x) => x.sum(), r()],
  'mean over a dim': [(x) => x.mean(-1, { keepdim: true }), r(2, 3)],
  'var, amax, argmax': [(x) => x.var(0).add(x.amax(0)).add(x.argmax(0)), r(4, 3)],
  'argmax of everything': [(x) => x.argmax(), r(2, 3)],
  'max and its position': [(x) => x.max(1)[0].add(x.max(1)[1]), r(2, 3)],
  'prod, any, all, median': [
    (x) => x.prod().add(x.gt(0).any()).add(x.gt(0).all()).add(x.median()),
    r(5),
  ],
  'logsumexp, softmax': [
    (x) => t.softmax(x, 0).sub(t.logSoftmax(x, 1)).add(t.logsumexp(x, 0)),
    r(2, 3),
  ],
  'softmax of a number': [(x) => t.softmax(x, 0), r()],
  norms: [
    (x) =>
      t
        .norm(x)
        .add(t.norm(x, 1))
        .add(t.norm(x, 2, 0).sum()),
    r(2, 3),
  ],
  'cumsum, flip, sort': [
    (x) =>
      x
        .cumsum(0)
        .add(x.flip([1]))
        .add(x.sort(0)[0]),
    r(3, 2),
  ],
  topk: [(x) => t.topk(x, 2)[0], r(5)],
  'view, permute, transpose': [(x) => x.view([3, 2]).t().permute([1, 0]).transpose(0, 1), r(2, 3)],
  'reshape of a transposed example': [(x) => x.t().reshape([6]), r(2, 3)],
  'squeeze, unsqueeze, expand': [
    (x) => x.unsqueeze(0).squeeze().expand([4, 2, 3]).unsqueeze(-1),
    r(2, 3),
  ],
  'expand of a number': [(x) => x.expand([2, 2]), r()],
  'select, narrow, slices': [(x) => x.select(0, 1).narrow(0, 1, 2).add(x.index(0, 1)), r(2, 3)],
  'split, unbind, cat, stack': [
    (x) =>
      t.cat([...x.unbind(0), ...x.split(1, 1).map((p) => p.reshape([2]).sum().expand([3]))], 0),
    r(2, 3),
  ],
  'cat of a shared and a batched tensor': [(x, y) => t.cat([x, y], 1), r(2, 3), r(2, 1)],
  'diagonal, tril, unfold': [
    (x) =>
      x
        .diagonal()
        .add(x.tril().sum(0))
        .add(x.unfold(0, 2, 1).sum()),
    r(3, 3),
  ],
  gather: [(x, i) => x.gather(1, i), r(2, 3), ids(3, 2, 4)],
  scatterAdd: [(x, i, s) => x.scatterAdd(0, i, s), r(4), ids(4, 3), r(3)],
  indexSelect: [(x, i) => x.indexSelect(1, i), r(2, 3), ids(3, 2)],
  indexAdd: [(x, i, s) => x.indexAdd(0, i, s), r(4, 2), ids(4, 3), r(3, 2)],
  'index by a tensor in front': [(x, i) => x.index(i), r(4, 2), ids(4, 3)],
  'index by a tensor behind': [(x, i) => x.index(null, i), r(4, 2), ids(2, 3)],
  'index by two tensors': [(x, i, j) => x.index(i, j), r(4, 3, 2), ids(4, 5), ids(3, 5)],
  'index by two tensors apart': [
    (x, i, j) => x.index(i, null, j),
    r(4, 3, 2),
    ids(4, 5),
    ids(2, 5),
  ],
  indexPut: [
    (x, i, v) => x.indexPut([i], v),
    r(4, 2),
    () => t.randperm(4).narrow(0, 0, 2),
    r(2, 2),
  ],
  'indexPut behind': [
    (x, i, v) => x.indexPut([null, i], v),
    r(2, 4),
    () => t.randperm(4).narrow(0, 0, 2),
    r(2),
  ],
  mm: [(a, b) => a.mm(b), r(2, 3), r(3, 4)],
  'matmul of many ranks': [(a, b) => a.matmul(b), r(5, 2, 3), r(3, 4)],
  'mv and dot': [(a, b) => a.mv(b).dot(a.mv(b)), r(2, 3), r(3)],
  'vector matmul': [(a, b) => a.matmul(b), r(3), r(3)],
  addmm: [(c, a, b) => t.addmm(c, a, b, { beta: 2, alpha: 3 }), r(4), r(2, 3), r(3, 4)],
  bmm: [(a, b) => a.bmm(b), r(2, 2, 3), r(2, 3, 2)],
  einsum: [(a, b) => t.einsum('ij,kj->ik', a, b), r(2, 3), r(4, 3)],
  linear: [(x, w, b) => t.linear(x, w, b), r(2, 3), r(4, 3), r(4)],
  conv2d: [
    (x, w, b) => t.conv2d(x, w, { bias: b, padding: 1 }),
    r(2, 2, 4, 4),
    r(3, 2, 3, 3),
    r(3),
  ],
  'grouped conv1d': [(x, w) => t.conv1d(x, w, { groups: 2 }), r(2, 4, 6), r(6, 2, 3)],
  'max and average pooling': [(x) => t.maxPool2d(x, 2).add(t.avgPool2d(x, 2)), r(2, 3, 4, 4)],
  'pooling without N': [(x) => t.maxPool2d(x, 2), r(3, 4, 4)],
  'layer norm': [(x, w, b) => t.layerNorm(x, [3], { weight: w, bias: b }), r(2, 3), r(3), r(3)],
  'group norm': [(x, w, b) => t.groupNorm(x, 2, { weight: w, bias: b }), r(2, 4, 3), r(4), r(4)],
  'batch norm in training': [
    (x, w) => t.batchNorm(x, { weight: w, training: true }),
    r(4, 2, 3),
    r(2),
  ],
  'batch norm by statistics': [
    (x, m, v) => t.batchNorm(x, { runningMean: m, runningVar: v }),
    r(4, 2, 3),
    r(2),
    positive(2),
  ],
  'cross entropy': [(x, y) => t.crossEntropy(x, y), r(4, 3), ids(3, 4)],
  'weighted cross entropy': [
    (x, y, w) => t.crossEntropy(x, y, { weight: w }),
    r(4, 3),
    ids(3, 4),
    positive(3),
  ],
  'binary cross entropy': [(x, y) => t.binaryCrossEntropyWithLogits(x, y.sigmoid()), r(4), r(4)],
  mse: [(x, y) => t.mseLoss(x, y), r(4), r(4)],
  embedding: [(w, i) => t.embedding(w, i), r(5, 2), ids(5, 3)],
  attention: [
    (q, k, v) => t.scaledDotProductAttention(q, k, v, { isCausal: true }),
    r(1, 2, 4, 8),
    r(1, 2, 4, 8),
    r(1, 2, 4, 8),
  ],
  padding: [(x) => t.pad(x, [1, 2]), r(2, 3)],
  'reflection padding': [(x) => t.pad(x, [1, 1], { mode: 'reflect' }), r(2, 3)],
  upsampling: [
    (x) => t.callOp(t.getOp('aten::upsample_nearest2d'), [x, [4, 4], null, null]) as Tensor,
    r(1, 2, 2, 2),
  ],
  'maskedFill and zerosLike': [
    (x) => x.maskedFill(x.gt(0), 1).add(t.zerosLike(x)).add(t.onesLike(x)),
    r(3),
  ],
  'maskedFill by a number of each example': [(x, v) => x.maskedFill(x.gt(0), v), r(3), r()],
  'roll, repeat, tile': [(x) => t.roll(x, 1, 0).repeat([2, 1]), r(2, 3)],
  'dtype conversions': [(x) => x.to('float64').mul(2).to('int32'), r(3)],
  'in place on an example': [(x, y) => x.add(y).add_(y).mul_(2).relu_(), r(2, 3), r(3)],
  'in place through a view': [
    (x, y) => {
      const out = x.add(y);
      out.select(0, 1).copy_(y);
      return out;
    },
    r(2, 3),
    r(3),
  ],
  'newZeros filled in place': [(x) => x.newZeros([2, 3]).add_(x), r(3)],
};

describe('vmap gives what a loop gives', () => {
  it.each(Object.entries(CASES))('%s', (_, [fn, ...examples]) => {
    manualSeed(1);
    check(fn, ...examples);
  });

  it('runs an operator without a rule once per example, and says so', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    check((x) => t.pdist(x), r(3, 2));
    warn.mockRestore();
  });
});

describe('inDims and outDims', () => {
  it('null is for results that all examples share', () => {
    const shared = ones([2]);
    const [each, all] = vmap((x: Tensor) => [x.mul(2), shared] as const, { outDims: [0, null] })(
      ones([3]),
    );
    expect([each.sizes, all === shared]).toEqual([[3], true]);
    expect(() => vmap((x: Tensor) => x.mul(2), { outDims: null })(ones([3]))).toThrow(
      'can not return a BatchedTensor when outDim is null',
    );
  });

  it('describe nested arguments and results', () => {
    const fn = vmap(
      ({ a, b }: { a: Tensor; b: Tensor[] }, k: number) => ({ s: a.add(b[0]!).mul(k), d: [b[1]!] }),
      { inDims: [{ a: 0, b: [null, 1] }, null], outDims: { s: 1, d: [0] } },
    );
    const out = fn({ a: ones([4, 3]), b: [ones([3]), zeros([2, 4])] }, 3);
    expect([out.s.sizes, out.d[0]!.sizes]).toEqual([
      [3, 4],
      [4, 2],
    ]);
    expect(out.s.sum().item()).toBe(72);
  });

  it('refuse what does not fit', () => {
    const id = (x: Tensor): Tensor => x;
    expect(() => vmap((x: Tensor, y: Tensor) => x.add(y))(ones([2]), ones([3]))).toThrow(
      'same size',
    );
    expect(() => vmap(id, { inDims: null })(ones([2]))).toThrow('at least one Tensor');
    expect(() => vmap(id)(tensor(1))).toThrow('dimensionality 0');
    expect(() => vmap(id, { inDims: [0, 0] })(ones([2]))).toThrow('not compatible');
    expect(() => vmap(id, { inDims: 3 })(ones([2]))).toThrow('Dimension out of range');
    expect(() => vmap((_x: Tensor) => 1)(ones([2]))).toThrow('must only return Tensors');
    expect(() => vmap(id, { randomness: 'some' as never })).toThrow('randomness');
  });

  it('a result that does not depend on the example is repeated', () => {
    expect(vmap((_x: Tensor) => ones([2]))(ones([3])).toArray()).toEqual(ones([3, 2]).toArray());
  });
});

function codeOf(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    return (error as TesseraError).code;
  }
  return 'none';
}

describe('what a function of a batch cannot do', () => {
  const x = randn([4, 3]);

  it('reads no values, and has no shape that depends on them', () => {
    expect(codeOf(() => vmap((v: Tensor) => tensor(v.sum().item()))(x))).toBe('vmap-data-access');
    expect(codeOf(() => vmap((v: Tensor) => t.nonzero(v))(x))).toBe('vmap-data-access');
    expect(codeOf(() => vmap((v: Tensor) => v.index(v.gt(0)))(x))).toBe('vmap-data-access');
  });

  it('writes nothing of an example into a shared tensor', () => {
    const total = zeros([3]);
    expect(codeOf(() => vmap((v: Tensor) => total.add_(v))(x))).toBe('vmap-inplace');
    expect(total.sum().item()).toBe(0);
  });

  it('cannot be used after vmap has returned', () => {
    let kept: Tensor | null = null;
    vmap((v: Tensor) => (kept = v))(x);
    expect(codeOf(() => kept!.add(1).toArray())).toBe('vmap-data-access');
  });

  it('takes gradients by grad() only', () => {
    expect(codeOf(() => vmap((v: Tensor) => v.requiresGrad_())(x))).toBe('vmap-unsupported');
    const w = randn([3]).requiresGrad_();
    expect(codeOf(() => vmap((v: Tensor) => (v.mul(w).sum().backward(), v))(x))).toBe(
      'vmap-unsupported',
    );
    expect(codeOf(() => vmap((v: Tensor) => t.grad(v.mul(w).sum(), w)[0]!)(x))).toBe(
      'vmap-unsupported',
    );
    class Own extends t.Function {
      static forward(_ctx: api.FunctionContext, v: Tensor): Tensor {
        return v.mul(2);
      }
      static backward(_ctx: api.FunctionContext, g: Tensor): Tensor {
        return g;
      }
    }
    expect(codeOf(() => vmap((v: Tensor) => Own.apply(v.mul(w)))(x))).toBe('vmap-unsupported');
    expect(codeOf(() => vmap((v: Tensor) => v.clone().t_())(x))).toBe('vmap-unsupported');
    expect(codeOf(() => vmap(async (v: Tensor) => Promise.resolve(v))(x))).toBe('vmap-unsupported');
  });
});

describe('randomness', () => {
  const draws: Record<string, (x: Tensor) => Tensor> = {
    randn: () => randn([5]),
    randLike: (x) => t.randLike(x),
    dropout: (x) => t.dropout(x, { p: 0.5, training: true }),
    'uniform_ on an example': (x) => x.clone().uniform_(),
  };
  it.each(Object.entries(draws))('%s: refused, the same for all, or different', (_, fn) => {
    const x = ones([64, 5]);
    expect(codeOf(() => vmap(fn)(x))).toBe('vmap-randomness');
    const distinct = (randomness: 'same' | 'different'): number => {
      const rows = vmap(fn, { randomness })(x).toArray() as number[][];
      return new Set(rows.map(String)).size;
    };
    expect(distinct('same')).toBe(1);
    expect(distinct('different')).toBeGreaterThan(8);
  });

  it('permutations and probabilities of each example', () => {
    const rows = vmap((_x: Tensor) => t.randperm(6), { randomness: 'different' })(ones([8]));
    expect(new Set((rows.toArray() as number[][]).map(String)).size).toBeGreaterThan(4);
    const p = tensor([0, 1]);
    expect(vmap((x: Tensor) => t.bernoulli(x), { randomness: 'different' })(p).toArray()).toEqual([
      0, 1,
    ]);
    expect(codeOf(() => vmap((x: Tensor) => t.bernoulli(x), { randomness: 'same' })(p))).toBe(
      'vmap-randomness',
    );
    expect(
      codeOf(() =>
        vmap((x: Tensor) => zeros([1]).uniform_().add(x), { randomness: 'different' })(p),
      ),
    ).toBe('vmap-inplace');
  });

  it('each level of two has its own choice', () => {
    const inner = vmap((_x: Tensor) => randn([1]), { randomness: 'different' });
    const out = vmap(inner, { randomness: 'same' })(ones([3, 4]))
      .squeeze(-1)
      .toArray() as number[][];
    expect(out[0]).toEqual(out[1]);
    expect(new Set(out[0]).size).toBe(4);
  });
});

describe('derivatives inside and outside', () => {
  const w = randn([3, 2]);
  const loss = (p: { w: Tensor; b: Tensor }, x: Tensor, y: Tensor): Tensor =>
    t.mseLoss(x.matmul(p.w).add(p.b).tanh(), y);
  const [x, y] = [randn([5, 3]), randn([5, 2])];
  const b = randn([2]);

  it('per-example gradients of shared parameters', () => {
    const each = vmap(grad(loss), { inDims: [null, 0, 0] })({ w, b }, x, y);
    for (let i = 0; i < 5; i++) {
      const [gw, gb] = [w, b].map((p) => p.detach().requiresGrad_());
      loss({ w: gw!, b: gb! }, x.select(0, i), y.select(0, i)).backward();
      close(each.w.select(0, i), gw!.grad!);
      close(each.b.select(0, i), gb!.grad!);
    }
    expect(each.w.requiresGrad).toBe(false);
  });

  it('backward() through vmap is that of the whole batch', () => {
    const own = w.detach().requiresGrad_();
    vmap((v: Tensor) => v.matmul(own).square().sum())(x)
      .sum()
      .backward();
    const other = w.detach().requiresGrad_();
    x.matmul(other).square().sum().backward();
    close(own.grad!, other.grad!);
  });

  it('gradients of gradients: Hessians of each example', () => {
    const f = (v: Tensor): Tensor => v.pow(3).sum().mul(v.select(0, 0));
    close(
      vmap(jacrev(grad(f)))(x),
      stack(
        x.unbind(0).map((v) => t.hessian(f, v)),
        0,
      ),
    );
  });

  it('gradients with respect to several arguments, with a value passed on', () => {
    const fn = (p: Tensor, q: Tensor): [Tensor, Tensor] => [p.mul(q).sum(), p.add(q)];
    const [[gp, gq], [value, aux]] = gradAndValue(fn, { argnums: [0, 1], hasAux: true })(
      ones([2]),
      ones([2]).mul(3),
    ) as unknown as [[Tensor, Tensor], [Tensor, Tensor]];
    expect([gp, gq, value, aux].map((v) => v.toArray())).toEqual([[3, 3], [1, 1], 6, [4, 4]]);
    const inner = grad((v: Tensor) => grad((u: Tensor) => u.mul(u).mul(v).sum())(ones([2])).sum())(
      ones([2]),
    );
    expect(inner.toArray()).toEqual([2, 2]);
  });

  it('gives auxiliary results without the history of the derivative, unless something around differentiates them', () => {
    const fn = (x: Tensor): [Tensor, { squares: Tensor; n: number }] => {
      const squares = x.mul(x);
      return [squares.sum(), { squares, n: 2 }];
    };
    const [, aux] = grad(fn, { hasAux: true })(tensor([1, 2])) as [
      Tensor,
      { squares: Tensor; n: number },
    ];
    expect(aux.squares.requiresGrad).toBe(false);
    expect(aux.n).toBe(2);
    const outer = grad((x: Tensor) => {
      const [, inner] = grad(fn, { hasAux: true })(x) as [Tensor, { squares: Tensor }];
      return inner.squares.sum();
    });
    expect(outer(tensor([1, 2])).toArray()).toEqual([2, 4]);
  });

  it('a loss of an example is a single number', () => {
    expect(codeOf(() => grad((v: Tensor) => v)(x))).toBe('grad-non-scalar');
    expect(codeOf(() => vmap(grad((v: Tensor) => v))(x))).toBe('grad-non-scalar');
    expect(codeOf(() => grad((v: Tensor) => v.sum(), { argnums: 1 })(x))).toBe('invalid-argument');
    expect(grad((_v: Tensor) => tensor(1))(ones([2])).toArray()).toEqual([0, 0]);
  });

  it('gradients of layers with weights of each example', () => {
    const images = randn([4, 2, 3, 6, 6]);
    const weight = randn([4, 3, 3, 3]);
    const fn = (k: Tensor, image: Tensor): Tensor => t.conv2d(image, k).relu().square().mean();
    const each = vmap(grad(fn), { inDims: [null, 0] })(weight, images);
    close(
      each,
      stack(
        images.unbind(0).map((image) => grad(fn)(weight, image)),
        0,
      ),
    );
  });
});

describe('jacrev', () => {
  it('composes with vmap', () => {
    const x = randn([3, 2]);
    const fn = (v: Tensor): Tensor => v.mul(v).cumsum(0);
    close(
      vmap(jacrev(fn))(x),
      stack(
        x.unbind(0).map((v) => t.jacobian(fn, v)),
        0,
      ),
    );
  });
});
