/**
 * @file Gradients of embeddings and sums of bags are sums of the rows that belong together: an infinity or NaN stays in
 * its row. Small and large, since kernels for them differ; expected is a plain loop.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, download, manualSeed, randint, randn, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, initWebGpu, observeCompilations } from '../src/index.js';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

if (wantsGpu) await initWebGpu();
manualSeed(5);

type Rows = number[][];
const SIZES = [
  ['few', { rows: 6, width: 3, bags: 4, each: 2 }],
  ['one column', { rows: 50, width: 1, bags: 9, each: 7 }],
  ['many indices', { rows: 11, width: 33, bags: 40, each: 20 }],
  ['many of both', { rows: 150, width: 40, bags: 100, each: 8 }],
] as const;
const SPECIAL = [Infinity, -Infinity, NaN];
const PADDING = 2;

function zeros(rows: number, width: number): Rows {
  return Array.from({ length: rows }, () => new Array<number>(width).fill(0));
}

function add(to: number[], row: readonly number[], scale = 1): void {
  row.forEach((x, j) => (to[j]! += x * scale));
}

/** Rows of which some elements are no finite numbers. */
function marked(rows: number, width: number): Tensor {
  const values = randn([rows, width]).toArray() as Rows;
  SPECIAL.forEach((x, i) => (values[(i * 5 + 1) % rows]![i % width] = x));
  return tensor(values);
}

function expectRows(got: unknown, wanted: Rows): void {
  const flat = (got as Rows).flat();
  wanted.flat().forEach((x, i) => {
    if (Number.isFinite(x)) expect(Math.abs(flat[i]! - x)).toBeLessThan(1e-4 * (1 + Math.abs(x)));
    else expect(flat[i]).toBe(x);
  });
}

const DEVICES = wantsGpu ? (['cpu', 'wgpu'] as const) : (['cpu'] as const);

describe.each(DEVICES)('on %s', (device) => {
  /** Eager and compiled. */
  const check = async (run: (...inputs: Tensor[]) => Tensor, inputs: Tensor[], wanted: Rows) => {
    const there = inputs.map((x) => x.to(device));
    for (const call of [run, compile(run)])
      expectRows((await download(call(...there))).toArray(), wanted);
  };

  describe.each(sampled(SIZES, 2))(`%s (${sampleName})`, (_, { rows, width, bags, each }) => {
    const ids = randint(0, rows, [bags, each]).mul(randint(0, 2, [bags, each]));
    const names = ids.toArray() as Rows;
    const flat = names.flat();
    const uses = new Array<number>(rows).fill(0);
    for (const row of flat) uses[row]!++;

    it.each([{}, { paddingIdx: PADDING }, { scaleGradByFreq: true }])(
      'the gradient of an embedding, %j',
      async (options: { paddingIdx?: number; scaleGradByFreq?: boolean }) => {
        const slope = marked(bags * each, width);
        const run = (w: Tensor, at: Tensor, g: Tensor): Tensor => {
          const leaf = w.detach().requiresGrad_();
          F.embedding(at, leaf, options).backward(g);
          return leaf.grad!;
        };
        const wanted = zeros(rows, width);
        (slope.toArray() as Rows).forEach((g, i) => {
          const row = flat[i]!;
          if (row === options.paddingIdx) return;
          add(wanted[row]!, g, options.scaleGradByFreq === true ? 1 / uses[row]! : 1);
        });
        await check(run, [randn([rows, width]), ids, slope.reshape([bags, each, width])], wanted);
      },
    );

    const scales = randn([bags, each]);
    const OPTIONS = [
      { mode: 'sum' },
      { mode: 'mean' },
      { mode: 'sum', paddingIdx: PADDING },
      { mode: 'mean', paddingIdx: PADDING },
      { mode: 'mean', scaleGradByFreq: true },
      { mode: 'sum', weighted: true },
    ] as const;
    type Options = (typeof OPTIONS)[number];
    /** What index i adds of its row to its bag, and back. */
    const share = (options: Options, bag: number, i: number): number => {
      const padding = 'paddingIdx' in options ? options.paddingIdx : -1;
      const row = names[bag]![i]!;
      if (row === padding) return 0;
      const kept = names[bag]!.filter((each) => each !== padding).length;
      const scale = 'weighted' in options ? (scales.toArray() as Rows)[bag]![i]! : 1;
      return scale / (options.mode === 'mean' ? kept : 1);
    };
    const bagsOf = (options: Options, at: Tensor, w: Tensor, psw: Tensor): Tensor => {
      const { mode, ...rest } = options;
      const { weighted, ...others } = { weighted: false, ...rest };
      const given = weighted ? { perSampleWeights: psw } : {};
      return F.embeddingBag(at, w, { ...others, ...given, mode });
    };

    it.each(OPTIONS)('bags, %j', async (options) => {
      const table = marked(rows, width);
      const values = table.toArray() as Rows;
      const wanted = zeros(bags, width);
      names.forEach((bag, b) =>
        bag.forEach((row, i) => {
          const scale = share(options, b, i);
          if (scale !== 0) add(wanted[b]!, values[row]!, scale);
        }),
      );
      await check((w, at, psw) => bagsOf(options, at, w, psw), [table, ids, scales], wanted);
    });

    it.each(['sum', 'mean'] as const)(
      'bags of one length are one kernel, or two where a check of indices pays: %s',
      (mode) => {
        const kernels: number[] = [];
        const stop = observeCompilations((_, { plan }) => kernels.push(plan.launches.length));
        compile((w: Tensor, at: Tensor) => F.embeddingBag(at, w, { mode }))(
          randn([rows, width]),
          ids,
        );
        stop();
        expect(kernels).toHaveLength(1);
        expect(kernels[0]).toBeLessThanOrEqual(2);
      },
    );

    it.each(OPTIONS)('gradients of bags, %j', async (options) => {
      const slope = marked(bags, width);
      const wanted = zeros(rows, width);
      const gradients = slope.toArray() as Rows;
      names.forEach((bag, b) =>
        bag.forEach((row, i) => {
          const scale = share(options, b, i);
          const freq = 'scaleGradByFreq' in options ? uses[row]! : 1;
          if (scale !== 0) add(wanted[row]!, gradients[b]!, scale / freq);
        }),
      );
      const run = (w: Tensor, at: Tensor, g: Tensor, psw: Tensor): Tensor => {
        const leaf = w.detach().requiresGrad_();
        bagsOf(options, at, leaf, psw).backward(g);
        return leaf.grad!;
      };
      await check(run, [randn([rows, width]), ids, slope, scales], wanted);
    });

    it('the largest of bags and their gradient', async () => {
      const table = randn([rows, width]);
      const values = table.toArray() as Rows;
      const slope = marked(bags, width);
      const gradients = slope.toArray() as Rows;
      const largest = zeros(bags, width);
      const wanted = zeros(rows, width);
      names.forEach((bag, b) => {
        for (let j = 0; j < width; j++) {
          const winner = bag.reduce((a, c) => (values[c]![j]! > values[a]![j]! ? c : a));
          largest[b]![j] = values[winner]![j]!;
          wanted[winner]![j]! += gradients[b]![j]!;
        }
      });
      await check((w, at) => F.embeddingBag(at, w, { mode: 'max' }), [table, ids], largest);
      const run = (w: Tensor, at: Tensor, g: Tensor): Tensor => {
        const leaf = w.detach().requiresGrad_();
        F.embeddingBag(at, leaf, { mode: 'max' }).backward(g);
        return leaf.grad!;
      };
      await check(run, [table, ids, slope], wanted);
    });

    it('bags at offsets, some of them empty', async () => {
      const table = marked(rows, width);
      const values = table.toArray() as Rows;
      const starts = [0, 0, ...names.map((bag, b) => (b + 1) * bag.length)];
      const offsets = tensor(starts, { dtype: 'int64' });
      for (const includeLastOffset of [false, true]) {
        const wanted = zeros(starts.length - (includeLastOffset ? 1 : 0), width);
        names.forEach((bag, b) => bag.forEach((row) => add(wanted[b + 1]!, values[row]!)));
        await check(
          (w, at, from) => F.embeddingBag(at, w, { mode: 'sum', offsets: from, includeLastOffset }),
          [table, ids.reshape([-1]), offsets],
          wanted,
        );
      }
    });
  });
});
