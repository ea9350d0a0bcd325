/**
 * @file On WebGPU kernels cannot throw: what they refuse is thrown by the next read, in the words of the CPU.
 */
import { compile, initWebGpu } from '@tessera/compile';
import { functional as F } from '@tessera/nn';
import { isTesseraError } from '@tessera/shared';
import {
  type Tensor,
  arange,
  cat,
  full,
  ones,
  searchsorted,
  randn,
  tensor,
  where,
  zeros,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';

const wanted = process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

const long = (...values: number[]): Tensor => tensor(values, { dtype: 'int64' });
const three = (): Tensor => tensor([10, 11, 12]);
const grid = (): Tensor => arange(6).to('float32').view([3, 2]);
const like = (i: Tensor): Tensor => ones(i.sizes, { device: i.device });

/** Operator, call, first argument, indices that are refused, indices that are not. */
const CASES: readonly [
  string,
  (x: Tensor, i: Tensor) => Tensor,
  () => Tensor,
  readonly (readonly number[])[],
  readonly number[],
][] = [
  ['index', (x, i) => x.index(i), three, [[7], [-9], [0, 1, 2, 0, 3]], [-3, 2]],
  ['index_select', (x, i) => x.indexSelect(0, i), three, [[7], [-1]], [2, 0]],
  ['gather', (x, i) => x.gather(0, i), three, [[7], [-1], [0, 0, 0, 0, 3]], [2, 0]],
  ['take', (x, i) => x.take(i), grid, [[6], [-7]], [-6, 5]],
  [
    'searchsorted',
    (x, i) => searchsorted(x, x.add(0.5), { sorter: i }),
    three,
    [
      [0, 1, 3],
      [0, 1, -1],
    ],
    [2, 0, 1],
  ],
  ['embedding', (x, i) => F.embedding(i, x), grid, [[1_000_000], [0, -1]], [2, 0]],
  ['scatter', (x, i) => x.scatter(0, i, 5), three, [[7], [0, -1]], [2, 0]],
  ['scatter_add', (x, i) => x.scatterAdd(0, i, like(i)), three, [[7], [0, -1]], [2, 2]],
  ['index_add', (x, i) => x.indexAdd(0, i, like(i)), three, [[7], [0, -1]], [2, 2]],
  ['index_copy', (x, i) => x.indexCopy(0, i, like(i)), three, [[7], [0, -1]], [2, 0]],
  ['index_put', (x, i) => x.indexPut([i], 5), three, [[7], [-4], [0, 3]], [-1, 0]],
  ['one_hot', (_, i) => F.oneHot(i, 3), three, [[5], [0, -1]], [2, 0]],
  ['nll_loss', (x, i) => F.nllLoss(x, i), () => three().view([1, 3]), [[5], [-1]], [2]],
  ['cross_entropy', (x, i) => F.crossEntropy(x, i), () => ones([2, 3]), [[0, 5]], [2, -100]],
  ['floor_divide', (x, i) => x.to('int64').floorDivide(i), three, [[3, 0, 1]], [3, 2, 1]],
  ['remainder', (x, i) => x.to('int64').remainder(i), three, [[3, 0, 1]], [3, 2, 1]],
  [
    'binary_cross_entropy of input',
    (x, i) => F.binaryCrossEntropy(i.mul(0.25), x.sub(10).mul(0.5)).gt(0),
    three,
    [
      [0, 1, 5],
      [-1, 0, 0],
    ],
    [0, 2, 3],
  ],
  [
    'binary_cross_entropy of target',
    (x, i) => F.binaryCrossEntropy(x.mul(0.0625), i.mul(0.25)).gt(0),
    three,
    [
      [0, 1, 5],
      [-1, 0, 0],
    ],
    [0, 2, 4],
  ],
];

/** The values, or the error's code and first line. */
async function outcome(call: () => Tensor): Promise<string> {
  try {
    const values = await call().toArray();
    return JSON.stringify(values);
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    return `${error.code}: ${error.message.split('\n')[0]}`;
  }
}

describe.runIf(wanted)('values that kernels refuse on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(CASES)(
    '%s: the next read throws what the CPU throws',
    async (_, run, input, bad, good) => {
      const onCpu = compile((x: Tensor, i: Tensor) => run(x, i));
      const compiled = compile((x: Tensor, i: Tensor) => run(x, i));
      const around = [full([64], 5), full([64], 5)].map((x) => x.to('wgpu'));
      const x = input().to('wgpu');
      for (const values of [...bad, good]) {
        const index = long(...values);
        const wantedOutcome = await outcome(() => onCpu(input(), index));
        const moved = index.to('wgpu');
        expect(await outcome(() => compiled(x, moved))).toBe(wantedOutcome);
      }
      for (const each of around) expect(await each.toArray()).toEqual(new Array(64).fill(5));
      expect(await x.toArray()).toEqual(input().toArray());
    },
  );

  it('threads without an element of their own refuse nothing', async () => {
    // Twelve sums over rows before each; what a thread beyond the last row knows of a sum is no index.
    const place = (x: Tensor): Tensor => {
      const taken = x.gt(0);
      const ranks = taken.to('int64').cumsum(0);
      const numbers = { dtype: 'int64', device: x.device } as const;
      const at = where(taken, ranks.sub(1), full([12], 12, numbers));
      const places = zeros([13], numbers).scatter(0, at, arange(12, numbers));
      return cat([places, ranks.narrow(0, 11, 1)]);
    };
    const x = tensor([1, -1, 2, 3, -1, -1, 4, -1, 5, -1, 6, 7]);
    const found = compile(place)(x.to('wgpu'));
    expect(await found.toArray()).toEqual(place(x).toArray());
  });

  it('an error is thrown once, by the first read that follows', async () => {
    const look = compile((x: Tensor, i: Tensor) => x.indexSelect(0, i));
    const x = three().to('wgpu');
    const other = x.add(1);
    look(x, long(9).to('wgpu'));
    await expect(other.toArray()).rejects.toMatchObject({ code: 'index-out-of-range' });
    expect(await other.toArray()).toEqual([11, 12, 13]);
    expect(await look(x, long(1).to('wgpu')).toArray()).toEqual([11]);
  });

  it('points beyond the end of a loop are not looked at', async () => {
    // Sizes that are no multiples of vectors, tiles and workgroups.
    const cases: readonly [(x: Tensor, i: Tensor) => Tensor, number][] = [
      [(x, i) => x.index(i).mul(2), 37],
      [(x, i) => x.index(i).sum(), 1037],
      [(x, i) => x.index(i).softmax(0), 301],
      [(_, i) => F.binaryCrossEntropy(i.mul(0.125), i.mul(0.25)), 1037],
      [(x, i) => F.embedding(i, x.view([-1, 1]).mul(ones([1, 3], { device: x.device }))), 13],
    ];
    for (const [run, count] of cases) {
      const compiled = compile((x: Tensor, i: Tensor) => run(x, i));
      const x = randn([5]);
      // The elements behind the indices in memory are no indices.
      const all = full([2 * count], 99, { dtype: 'int64' });
      all.narrow(0, 0, count).copy_(arange(count, { dtype: 'int64' }).remainder(5));
      const index = all.to('wgpu').narrow(0, 0, count);
      const result = await compiled(x.to('wgpu'), index).toArray();
      const expected = run(x, all.narrow(0, 0, count)).toArray();
      const numbers = (values: unknown): number[] => [values].flat(3) as number[];
      expect(numbers(result)).toHaveLength(numbers(expected).length);
      numbers(result).forEach((value, k) => expect(value).toBeCloseTo(numbers(expected)[k]!, 2));
    }
  });

  it('a product of looked-up rows looks at the rows of the product only', async () => {
    const run = (x: Tensor, i: Tensor, w: Tensor): Tensor => x.indexSelect(0, i).matmul(w);
    const compiled = compile(run);
    const [x, w] = [randn([5, 19]), randn([19, 21])];
    const all = full([64], 99, { dtype: 'int64' });
    all.narrow(0, 0, 33).copy_(arange(33, { dtype: 'int64' }).remainder(5));
    const index = all.to('wgpu').narrow(0, 0, 33);
    const result = (await compiled(x.to('wgpu'), index, w.to('wgpu')).toArray()) as number[][];
    const expected = run(x, all.narrow(0, 0, 33), w).toArray() as number[][];
    result.forEach((row, r) =>
      row.forEach((value, c) => expect(value).toBeCloseTo(expected[r]![c]!, 3)),
    );
    const broken = all.clone();
    broken.select(0, 32).fill_(5);
    const late = compiled(x.to('wgpu'), broken.to('wgpu').narrow(0, 0, 33), w.to('wgpu'));
    await expect(late.toArray()).rejects.toMatchObject({
      code: 'index-out-of-range',
      context: { index: 5, size: 5 },
    });
  });
});
