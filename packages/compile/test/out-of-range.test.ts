/**
 * @file What eager refuses at run time, compiled code refuses: indices, labels, integer divisors, weights.
 */
import { Embedding, EmbeddingBag, functional as F, optim } from '@tessera/nn';
import { config, isTesseraError } from '@tessera/shared';
import { type Tensor, arange, full, ones, searchsorted, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const long = (...values: number[]): Tensor => tensor(values, { dtype: 'int64' });
const three = (): Tensor => tensor([10, 11, 12]);
const one = (): Tensor => tensor([10]);
const grid = (): Tensor => arange(6).to('float32').view([3, 2]);

interface Case {
  readonly name: string;
  readonly run: (x: Tensor, index: Tensor) => Tensor;
  readonly input: () => Tensor;
  /** Indices that are refused, and one that is not. */
  readonly bad: readonly (readonly number[])[];
  readonly good: readonly number[];
}

const row = (
  name: string,
  run: Case['run'],
  input: Case['input'],
  bad: Case['bad'],
  good: Case['good'],
): Case => ({ name, run, input, bad, good });

const INDEX_CASES: readonly Case[] = [
  row('index', (x, i) => x.index(i), three, [[7], [-9], [0, 1, 2, 3], [2 ** 40]], [-3, 2]),
  row('index_select', (x, i) => x.indexSelect(0, i), three, [[7], [-1], [-(2 ** 40)]], [2, 0]),
  row('gather', (x, i) => x.gather(0, i), three, [[7], [-1], [0, 0, 0, 0, 3]], [2, 0]),
  row('take', (x, i) => x.take(i), grid, [[6], [-7]], [-6, 5]),
  row(
    'searchsorted by an order',
    (x, i) => searchsorted(x, tensor([11.5]), { sorter: i }).to('float32'),
    three,
    [
      [0, 1, 3],
      [0, 1, -1],
    ],
    [2, 0, 1],
  ),
  row('embedding', (x, i) => F.embedding(i, x), grid, [[1_000_000], [-1], [0, 3]], [2, 0]),
  row(
    'embedding with padding',
    (x, i) => F.embedding(i, x, { paddingIdx: 1 }),
    grid,
    [[3], [1, -1]],
    [1, 2],
  ),
  row(
    'embedding_bag',
    (x, i) => F.embeddingBag(i, x, { offsets: long(0) }),
    grid,
    [[3], [0, -1]],
    [2, 0],
  ),
  row(
    'embedding_bag of the largest',
    (x, i) => F.embeddingBag(i, x, { offsets: long(0), mode: 'max' }),
    grid,
    [[3], [0, -1]],
    [2, 0],
  ),
  row(
    'offsets of embedding_bag',
    (x, i) => F.embeddingBag(long(0, 2, 1), x, { offsets: i }),
    grid,
    [[1], [3, 3], [0, 4], [0, -1]],
    [0, 3],
  ),
  row('index of one element', (x, i) => x.index(i), one, [[1], [-2], [0, 1]], [-1, 0]),
  row('index_select of one', (x, i) => x.indexSelect(0, i), one, [[1], [-1]], [0, 0]),
  row('gather of one', (x, i) => x.gather(0, i), one, [[1], [-1]], [0]),
  row('embedding of one', (x, i) => F.embedding(i, x.view([1, 1])), one, [[1], [-1]], [0]),
  row('index_put into one', (x, i) => x.indexPut([i], 5), one, [[1], [-2]], [-1]),
  row('scatter into one', (x, i) => x.scatter(0, i, 5), one, [[1], [-1]], [0]),
  row('nll_loss of one class', (x, i) => F.nllLoss(x.view([1, 1]), i), one, [[1], [-1]], [0]),
  row(
    'index of equal elements',
    (x, i) => x.expand([3]).index(i),
    one,
    [[3], [-4], [0, 1, 5]],
    [-3, 2],
  ),
  row('gather of a constant', (_, i) => full([3], 2).gather(0, i), one, [[3], [-1]], [2]),
  row('scatter', (x, i) => x.scatter(0, i, 5), three, [[7], [-1], [0, 3]], [2, 0]),
  row('scatter_add', (x, i) => x.scatterAdd(0, i, ones(i.sizes)), three, [[7], [0, -1]], [2, 2]),
  row(
    'scatter_reduce',
    (x, i) => x.scatterReduce(0, i, ones(i.sizes), 'amax'),
    three,
    [[7], [0, -1]],
    [2, 0],
  ),
  row('index_add', (x, i) => x.indexAdd(0, i, ones(i.sizes)), three, [[7], [0, -1]], [2, 2]),
  row('index_copy', (x, i) => x.indexCopy(0, i, ones(i.sizes)), three, [[7], [0, -1]], [2, 0]),
  row('index_put', (x, i) => x.indexPut([i], 5), three, [[7], [-4], [0, 3]], [-1, 0]),
  row('index_fill', (x, i) => x.indexFill(0, i, 5), three, [[7], [-4]], [-1, 0]),
  row('one_hot', (_, i) => F.oneHot(i, 3), three, [[5], [0, -1]], [2, 0]),
  row(
    'nll_loss',
    (x, i) => F.nllLoss(x, i),
    () => three().view([1, 3]),
    [[5], [-1]],
    [2],
  ),
  row(
    'cross_entropy',
    (x, i) => F.crossEntropy(x, i),
    () => ones([2, 3]),
    [
      [5, 0],
      [0, -100_000],
    ],
    [2, -100],
  ),
];

/** Whether a call throws and what; else its values. */
function outcome(call: () => Tensor): string {
  try {
    const result = call();
    return JSON.stringify(result.toArray());
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    return `${error.code}: ${error.message.split('\n')[0]}`;
  }
}

describe('indices and labels out of range', () => {
  it.each(INDEX_CASES)('$name refuses them like eager, valid ones count', (item) => {
    const compiled = compile((x: Tensor, index: Tensor) => item.run(x, index));
    const reference = (index: Tensor): string =>
      config.patch({ 'eager.kernels': 'reference' }, () =>
        outcome(() => item.run(item.input(), index)),
      );
    for (const values of item.bad) {
      const index = long(...values);
      const eager = outcome(() => item.run(item.input(), index));
      expect(eager).toMatch(/^index-out-of-range/);
      expect(reference(index)).toBe(eager);
      for (let again = 0; again < 2; again++)
        expect(outcome(() => compiled(item.input(), index))).toBe(eager);
    }
    const index = long(...item.good);
    expect(outcome(() => compiled(item.input(), index))).toBe(
      outcome(() => item.run(item.input(), index)),
    );
  });

  it.each(INDEX_CASES)('$name leaves the memory around its tensors alone', (item) => {
    const compiled = compile((x: Tensor, index: Tensor) => item.run(x, index));
    const around: Tensor[] = [];
    const canary = (): void => void around.push(full([64], 123.25));
    canary();
    const x = item.input();
    canary();
    for (const values of item.bad) {
      const index = long(...values);
      canary();
      outcome(() => compiled(x, index));
      outcome(() => item.run(x, index));
      canary();
    }
    for (const each of around) expect(each.toArray()).toEqual(new Array<number>(64).fill(123.25));
    expect(x.toArray()).toEqual(item.input().toArray());
  });
});

describe('divisors of zero', () => {
  const cases: readonly [string, (a: Tensor, b: Tensor) => Tensor][] = [
    ['floor_divide', (a, b) => a.floorDivide(b)],
    ['div', (a, b) => a.div(b, { roundingMode: 'trunc' })],
    ['div', (a, b) => a.div(b, { roundingMode: 'floor' })],
    ['remainder', (a, b) => a.remainder(b)],
    ['fmod', (a, b) => a.fmod(b)],
  ];
  it.each(cases)('%s refuses them of integers, not of floats', (name, run) => {
    const compiled = compile((a: Tensor, b: Tensor) => run(a, b));
    for (const dtype of ['int64', 'int32', 'int16', 'uint8'] as const) {
      const [a, b] = [long(7, 9, 5, 3, 1), long(2, 3, 0, 1, 1)].map((x) => x.to(dtype)) as [
        Tensor,
        Tensor,
      ];
      const words = `invalid-argument: ZeroDivisionError: ${name}: integer division by zero`;
      expect(outcome(() => run(a, b))).toBe(words);
      expect(outcome(() => compiled(a, b))).toBe(words);
      const valid = b.add(1).to(dtype);
      expect(outcome(() => compiled(a, valid))).toBe(outcome(() => run(a, valid)));
    }
    const [a, b] = [tensor([7, -9]), zeros([2])];
    expect(outcome(() => compiled(a, b))).toBe(outcome(() => run(a, b)));
  });
});

describe('divisors of zero of what is written last', () => {
  const whole = (): Tensor => tensor([1, 3], { dtype: 'int32' });
  const words = 'invalid-argument: ZeroDivisionError: floor_divide: integer division by zero';
  const cases: readonly [string, (a: Tensor) => void][] = [
    ['a copy', (a) => void a.repeat([2]).floorDivide_(0)],
    ['a copy that was written before', (a) => void a.clone().add_(1).floorDivide_(0)],
    ['a part of a copy', (a) => void a.repeat([2]).select(0, 1).floorDivide_(0)],
    ['a part of what was made', (a) => void a.add(1).reshape([2, 1]).select(0, 1).floorDivide_(0)],
    ['what has parts', (a) => void a.add(2).slice(0, 0, 1).add_(1).floorDivide_(0)],
  ];
  it.each(cases)('are refused though nobody reads it: %s', (_name, write) => {
    for (const backend of ['aot_eager', 'inductor'] as const) {
      const run = (a: Tensor): Tensor => {
        write(a);
        return a.add(1);
      };
      const compiled = compile(run, { backend });
      expect(outcome(() => run(whole()))).toBe(words);
      for (let again = 0; again < 2; again++) expect(outcome(() => compiled(whole()))).toBe(words);
    }
  });
});

describe('probabilities outside of [0, 1]', () => {
  const loss = (x: Tensor, y: Tensor): Tensor => F.binaryCrossEntropy(x, y);
  const cases: [string, number[], number[]][] = [
    ['input', [0.5, 1.5], [0, 1]],
    ['input', [-0.25, 0.5], [0, 1]],
    ['input', [0.5, NaN], [0, 1]],
    ['target', [0.5, 0.5], [0, 1.0625]],
    ['target', [0.5, 0.5], [-1, 0]],
  ];
  it.each(cases)('are refused as %s of binary_cross_entropy: %s, %s', (argument, x, y) => {
    const words = `invalid-argument: binary_cross_entropy: all elements of ${argument} should be between 0 and 1`;
    for (const kernels of ['reference', 'inductor'] as const)
      config.patch({ 'eager.kernels': kernels }, () =>
        expect(outcome(() => loss(tensor(x), tensor(y)))).toBe(words),
      );
    const compiled = compile(loss);
    for (let again = 0; again < 2; again++)
      expect(outcome(() => compiled(tensor(x), tensor(y)))).toBe(words);
    const [certain, unsure] = [tensor([0, 1]), tensor([0.25, 0.5])];
    for (const run of [loss, compiled])
      expect(run(unsure, certain).item()).toBeCloseTo(-(Math.log(0.75) + Math.log(0.5)) / 2, 6);
  });
});

describe('weights and counts', () => {
  it('multinomial and repeat_interleave refuse negative ones', () => {
    const draw = compile((x: Tensor) => x.neg().multinomial(1));
    expect(outcome(() => draw(three()))).toMatch(/^invalid-argument/);
    const repeat = compile((x: Tensor, counts: Tensor) => x.repeatInterleave(counts));
    expect(outcome(() => repeat(ones([1]), long(-1)))).toMatch(/^invalid-argument/);
  });
});

describe('a refused value', () => {
  it('is none where nothing is read', () => {
    const f = (x: Tensor, i: Tensor): Tensor => F.embedding(i, x);
    const empty = zeros([2, 0]);
    for (const kernels of ['reference', 'inductor'] as const)
      config.patch({ 'eager.kernels': kernels }, () => {
        for (const run of [f, compile(f)]) expect(run(empty, long(0, 9)).shape).toEqual([2, 0]);
        expect(empty.indexSelect(0, long(9)).shape).toEqual([1, 0]);
      });
  });

  it('stops the graph: nothing after it is done', () => {
    const table = new Embedding(4, 2);
    const optimizer = new optim.SGD(table.parameters(), { lr: 0.1 });
    const step = compile((index: Tensor) => {
      const loss = table.call(index).sum();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss.detach();
    });
    step(long(0, 1, 2));
    const before = table.weight.toArray();
    expect(() => step(long(0, 4, 2))).toThrow(
      expect.objectContaining({ code: 'index-out-of-range' }),
    );
    expect(table.weight.toArray()).toEqual(before);
    step(long(0, 1, 2));
    expect(table.weight.toArray()).not.toEqual(before);
  });

  it('is found in long rows and in their tails, whichever thread looks', () => {
    const look = compile((x: Tensor, index: Tensor) => x.gather(1, index).mul(2));
    const x = arange(256 * 600)
      .to('float32')
      .view([256, 600]);
    const index = zeros([256, 600], { dtype: 'int64' });
    const fine = look(x, index);
    for (let again = 0; again < 20; again++) look(x, index);
    for (const [i, j] of [
      [0, 0],
      [0, 599],
      [131, 301],
      [255, 599],
    ] as const) {
      const broken = index.clone();
      broken.select(0, i).select(0, j).fill_(600);
      expect(() => look(x, broken)).toThrow(
        expect.objectContaining({
          code: 'index-out-of-range',
          context: expect.objectContaining({ index: 600, size: 600 }),
        }),
      );
    }
    expect(look(x, index).toArray()).toEqual(fine.toArray());
  });

  it('is not refused with inductor.checkIndices off; nothing outside is read', () => {
    const look = compile((x: Tensor, index: Tensor) => x.indexSelect(0, index));
    const result = config.patch({ 'inductor.checkIndices': false }, () =>
      look(three(), long(7, -2, 1)),
    );
    expect(result.toArray()).toEqual([12, 10, 11]);
  });

  it('is refused in the gradient of a bag as well as in its sum', () => {
    const bag = new EmbeddingBag(3, 2, { mode: 'sum' });
    const run = compile((index: Tensor) => {
      const loss = bag.call(index).sum();
      loss.backward();
      return loss.detach();
    });
    expect(() => run(long(0, 3).view([1, 2]))).toThrow(
      expect.objectContaining({ code: 'index-out-of-range' }),
    );
  });
});
