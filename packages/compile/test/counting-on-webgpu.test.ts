/**
 * @file Counts of elements by bins, positions of elements, and numbers drawn by one uniform number, on WebGPU: eager and
 * compiled, beside the reference kernels of the CPU.
 */
import {
  type Tensor,
  combinations,
  download,
  full,
  getRngState,
  manualSeed,
  randn,
  tensor,
} from '@tessera/tensor';
import { histogramdd } from '@tessera/tensor/more';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor | Tensor[];

const on = (x: Tensor, data: number[]): Tensor => tensor(data, { device: x.device });
/** Elements beyond the ends, at them, and at the ends of bins, NaN and infinities. */
const EDGES = tensor([0, 0.1, 0.35, 0.7, 1, 1.0001, -0.1, NaN, Infinity, -Infinity, 0.7]);

const COUNTS: [string, Fn, Tensor[]][] = [
  [
    'histc',
    (x) => x.histc({ bins: 10 }),
    [randn([1]), randn([7, 3]), randn([4099]), full([5], 2.5)],
  ],
  [
    'histc of a range',
    (x) => x.histc({ bins: 10, min: 0, max: 1 }),
    [EDGES, randn([0]), randn([999])],
  ],
  ['histc of nothing', (x) => x.histc({ bins: 3 }), [randn([0])]],
  ['many bins', (x) => x.histc({ bins: 1000, min: -2, max: 2 }), [randn([2000])]],
  ['histogram', (x) => x.histogram(7), [randn([1]), randn([6, 5]), randn([0]), full([3], -1.5)]],
  ['histogram of a range', (x) => x.histogram(10, { range: [0, 1] }), [EDGES, randn([333])]],
  [
    'histogram of weights, as a density',
    (x) => x.histogram(5, { weight: x.abs(), density: true }),
    [randn([64]), randn([3, 3]).t()],
  ],
  [
    'histogram between given edges',
    (x) => x.histogram(on(x, [-1, -0.5, 0, 0.1, 2]), { weight: x.square() }),
    [randn([65]), tensor([-1, 2, 0, 0.1, NaN, 5])],
  ],
  ['histogramdd', (x) => histogramdd(x, [3, 4]).flat(), [randn([50, 2]), full([2, 2], 3.5)]],
  [
    'histogramdd of a range, of weights, as a density',
    (x) => {
      const options = { range: [-1, 1, -2, 2, 0, 1], weight: x.abs().sum(-1), density: true };
      return histogramdd(x, 3, options).flat();
    },
    [randn([4, 25, 3])],
  ],
  [
    'histogramdd between given edges',
    (x) => histogramdd(x, [on(x, [-1, 0, 1]), on(x, [0, 0.5])])[0],
    [
      randn([40, 2]),
      tensor([
        [1, 0.5],
        [-1, 0],
        [NaN, 0],
        [0, 0.6],
      ]),
    ],
  ],
  [
    'nonzeroStatic',
    (x) => x.relu().nonzeroStatic({ size: 6, fillValue: -7 }),
    [randn([3, 4]), randn([5]), randn([2, 0]), full([2, 2, 2], 1.5), tensor([NaN, 0, -1, 2])],
  ],
  ['nonzeroStatic of nothing', (x) => x.nonzeroStatic({ size: 0 }), [randn([3])]],
  ['combinations', (x) => combinations(x, 2), [randn([5]), randn([1])]],
];

/** Numbers drawn into tensors of this length: some differ by rounding where reference kernels compute in float64. */
const DRAWS: [string, (x: Tensor) => Tensor, number][] = [
  ['cauchy_', (x) => x.cauchy_(), 2e-6],
  ['cauchy_ with a place and a width', (x) => x.cauchy_(3, 0.5), 2e-6],
  ['geometric_', (x) => x.geometric_(0.3), 0],
  ['rare geometric_', (x) => x.geometric_(0.001), 0],
  ['logNormal_', (x) => x.logNormal_(0.5, 1), 1e-5],
];

const listed = (made: Tensor | Tensor[]): Tensor[] => (Array.isArray(made) ? made : [made]);

describe.skipIf(!wantsGpu)('on WebGPU, as on the CPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(COUNTS)('%s', async (_, fn, inputs) => {
    const compiled = compile((x: Tensor) => fn(x), { fullgraph: true });
    for (const input of inputs) {
      const expected = listed(fn(input));
      for (const run of [fn, compiled]) {
        const actual = listed(run(input.to('wgpu')));
        expect(actual.length).toBe(expected.length);
        for (const [i, each] of actual.entries()) {
          const near = { rtol: 1e-5, atol: 1e-6, equalNan: true };
          expect(each.dtype).toBe(expected[i]!.dtype);
          const read = await download(each);
          expect(read.toArray(), `${input}`).toEqual(
            read.allclose(expected[i]!, near) ? read.toArray() : expected[i]!.toArray(),
          );
        }
      }
    }
  });

  it('ends that would be refused give NaN', async () => {
    const x = tensor([1, NaN], { device: 'wgpu' });
    for (const counts of [x.histc({ bins: 2 }), x.histogram(2)[0]])
      expect((await download(counts)).toArray()).toEqual([NaN, NaN]);
  });

  it.each(DRAWS)('%s', async (_, fn, error) => {
    const compiled = compile((x: Tensor) => [fn(x.clone()), fn(x.clone())], { fullgraph: true });
    const both = (x: Tensor): Tensor[] => [fn(x.clone()), fn(x.clone())];
    for (const size of [0, 1, 3, 20_000]) {
      const x = full([size], 1.5);
      manualSeed(size);
      const expected = both(x);
      const { offset } = getRngState();
      for (const run of [both, compiled]) {
        manualSeed(size);
        const drawn = run(x.to('wgpu'));
        expect(getRngState().offset).toBe(offset);
        for (const [i, each] of drawn.entries()) {
          const actual = await download(each);
          const far = actual.sub(expected[i]!).abs().gt(expected[i]!.abs().add(1).mul(error));
          // Of whole numbers a few in ten thousand may be others.
          expect(far.sum().item()).toBeLessThanOrEqual(error === 0 ? size / 5000 : 0);
        }
      }
    }
  });
});
