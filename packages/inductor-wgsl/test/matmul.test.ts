import { verifyKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateMatmul } from '../src/codegen/scheduled/matmul.js';
import { matmulClass } from '@tessera/inductor-core';
import {
  chooseMatmulTile,
  MATMUL_TILES,
  tileFits,
  tileThreads,
  type MatmulTile,
} from '@tessera/inductor-core';
import { matmulPieces, productTime, splitProduct, TIMED_TILES } from '@tessera/inductor-core';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET } from '../src/index.js';
import {
  convolutionKernel,
  matmulData,
  matmulKernel,
  type MatmulSpec,
} from './support/matmul-kernel.js';
import { openGpu } from './support/open-gpu.js';
import { singlePlan } from './support/plans.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

const SHAPES: readonly MatmulSpec[] = [
  { m: 1, n: 1, k: 1 },
  { m: 1, n: 64, k: 40 },
  { m: 37, n: 1, k: 129 },
  { m: 1, n: 1, k: 500 },
  { m: 3, n: 5, k: 7 },
  { m: 16, n: 16, k: 16 },
  { m: 33, n: 65, k: 17 },
  { m: 64, n: 10, k: 784 },
  { m: 130, n: 132, k: 36 },
  { m: 20, n: 30, k: 0 },
  { m: 7, n: 12, k: 20, batch: 3 },
  { m: 40, n: 24, k: 24, batch: 5, transposeB: true },
];

describe.skipIf(gpu === null)('matmul kernels on the device', () => {
  for (const shape of SHAPES) {
    it(`multiplies ${JSON.stringify(shape)}`, async () => {
      await compareKernel(gpu!, matmulKernel(shape), matmulData(shape), [], 10);
    });
  }

  for (const transposeA of [false, true]) {
    for (const transposeB of [false, true]) {
      it(`reads operands in any order: transposed A ${transposeA}, B ${transposeB}`, async () => {
        for (const size of [20, 31, 64]) {
          const spec: MatmulSpec = {
            m: size,
            n: size + 4,
            k: size,
            transposeA,
            transposeB,
            biasRelu: true,
            squareA: true,
          };
          await compareKernel(gpu!, matmulKernel(spec), matmulData(spec), [], 10);
        }
      });
    }
  }

  for (const dtype of ['float16', 'bfloat16', 'int32'] as const) {
    it(`multiplies ${dtype}`, async () => {
      const spec: MatmulSpec = { m: 24, n: 20, k: 36, dtype, biasRelu: true };
      const data = matmulData(spec);
      if (dtype === 'int32')
        for (const name of ['a', 'b', 'bias'])
          data[name] = data[name].map((v) => Math.trunc(v * 8));
      await compareKernel(gpu!, matmulKernel(spec), data, [], 2);
    });
  }

  const software: readonly MatmulTile[] = [
    { bm: 64, bn: 64, bk: 16, tm: 8, tn: 8, slices: 1 },
    { bm: 32, bn: 32, bk: 16, tm: 8, tn: 8, slices: 1 },
    { bm: 16, bn: 16, bk: 16, tm: 4, tn: 4, slices: 1 },
  ];
  for (const tile of [...MATMUL_TILES, ...software]) {
    const fits = gpu !== null && tileFits(tile, gpu.backend.target);
    it.skipIf(!fits)(`computes the same with every tile: ${JSON.stringify(tile)}`, async () => {
      for (const [spec, unrolled] of [
        [{ m: 70, n: 77, k: 45, biasRelu: true }, false],
        [{ m: 70, n: 77, k: 45, biasRelu: true }, true],
        [{ m: 128, n: 128, k: 32, transposeB: true }, true],
      ] as const) {
        await compareKernel(gpu!, matmulKernel(spec), matmulData(spec), [], 10, {
          generate: (kernel, variant) =>
            generateMatmul(
              kernel as ReturnType<typeof matmulKernel>,
              gpu!.backend.target,
              variant ?? directVariant(kernel.params.length),
              { tile, unrolled },
            ),
        });
      }
    });
  }

  it('computes convolutions as implicit products', async () => {
    for (const sizes of [
      { n: 2, c: 3, h: 8, w: 8, o: 4, stride: 1 },
      { n: 1, c: 2, h: 7, w: 5, o: 6, stride: 2 },
      { n: 3, c: 1, h: 8, w: 8, o: 16, stride: 1 },
    ]) {
      const kernel = convolutionKernel(sizes);
      const fill = (count: number, step: number): number[] =>
        Array.from({ length: count }, (_, i) => ((i * step) % 13) / 4 - 1.5);
      const [oh, ow] = [kernel.m[1].size, kernel.m[2].size];
      await compareKernel(
        gpu!,
        kernel,
        {
          image: fill(sizes.n * sizes.c * sizes.h * sizes.w, 5),
          weight: fill(sizes.o * sizes.c * 9, 7),
          out: new Array<number>(sizes.n * sizes.o * oh * ow).fill(0),
        },
        [],
        10,
      );
    }
  });

  it('reads operands that are views at odd offsets', async () => {
    const spec: MatmulSpec = { m: 20, n: 24, k: 28, biasRelu: true };
    await compareKernel(gpu!, matmulKernel(spec), matmulData(spec), [], 10, { offset: 3 });
  });
});

describe('the choice of tiles', () => {
  const roomy = { ...BASELINE_TARGET, maxWorkgroupBytes: 49152 };

  it('takes large tiles for large products and small ones for small', () => {
    const choose = (m: number, n: number, k: number): MatmulTile =>
      chooseMatmulTile({ batch: 1, m, n, k }, roomy);
    expect(choose(4096, 4096, 4096)).toMatchObject({ bm: 128, bn: 128 });
    expect(choose(1024, 1024, 1024)).toMatchObject({ bm: 64, bn: 64 });
    expect(choose(1024, 3072, 768)).toMatchObject({ bm: 128, bn: 64 });
    expect(choose(512, 256, 256)).toMatchObject({ bm: 32, bn: 32 });
    expect(choose(1024, 768, 768)).toMatchObject({ bm: 64, bn: 32, slices: 2 });
    expect(choose(64, 10, 784)).toMatchObject({ bm: 16, bn: 16, slices: 16 });
  });

  it('keeps threads apart that write to workgroup memory together', () => {
    for (const { tile } of TIMED_TILES.filter(({ tile: { bk } }) => bk <= 32)) {
      const kernel = matmulKernel({ m: 256, n: 256, k: 64, transposeB: true });
      const { text } = generateMatmul(kernel, roomy, directVariant(3), { tile, unrolled: true });
      for (const name of ['slab_a0', 'slab_b0']) {
        const [, type, row] = new RegExp(`${name}: array<array<(\\w+), (\\d+)>`).exec(text)!;
        const [, k, at] = new RegExp(`${name}\\[([^\\]]+)\\]\\[([^\\]]+)\\] = `).exec(text)!;
        const place = new Function(
          'lane',
          `return Number((${k}) * ${row}n + ${at})`.replace(/(\d)u/g, '$1n'),
        );
        // Vectors are written in turns of eight threads, values by 32 at once.
        const together = type === 'f32' ? 32 : 8;
        const first = name === 'slab_b0' && text.includes('else {') ? tileThreads(tile) / 2 : 0;
        const banks = Array.from(
          { length: together },
          (_, i) => (place(BigInt(first + i)) as number) % together,
        );
        expect(new Set(banks).size, `${name} of ${JSON.stringify(tile)}`).toBe(together);
      }
    }
  });

  it('stays within the limits of every device', () => {
    for (const m of [2, 30, 100, 512, 4096]) {
      const tile = chooseMatmulTile({ batch: 1, m, n: m, k: 64 }, BASELINE_TARGET);
      expect(tileThreads(tile)).toBeLessThanOrEqual(256);
      expect(tileFits(tile, BASELINE_TARGET)).toBe(true);
    }
  });

  it('gives software adapters few threads with much work', () => {
    const software = { ...BASELINE_TARGET, software: true, parallelism: 4 };
    for (const m of [10, 64, 500]) {
      const tile = chooseMatmulTile({ batch: 1, m, n: m, k: 64 }, software);
      expect(tileThreads(tile)).toBeLessThanOrEqual(64);
      expect(tile.slices).toBe(1);
    }
  });

  it('prefers a remembered tile', () => {
    const tile = MATMUL_TILES.at(-1)!;
    const kernel = matmulKernel({ m: 4096, n: 4000, k: 4096, transposeB: true });
    const memory = new Map([['1x4096x4096x4096:kk:float32', tile]]);
    expect(matmulClass(kernel)).toBe('1x4096x4096x4096:kk:float32');
    const { workgroups } = generateMatmul(kernel, roomy, directVariant(3), { memory });
    expect(workgroups).toEqual([250 * 256, 1]);
  });
});

describe('times of products', () => {
  const [large] = TIMED_TILES;
  const time = (m: number, k: number, unrolled = true): number =>
    productTime(large, { batch: 1, m, n: 128, k }, unrolled);

  it('are those of the table, go up with the load of the busiest core, and with the sum', () => {
    expect(time(132 * 128, 1024)).toBe(large.times[0]);
    expect(time(1, 1024)).toBe(large.times[0]);
    expect(time(132 * 128 + 1, 1024)).toBe(large.times[1]);
    expect(time(132 * 128 * 9, 1024)).toBeCloseTo((large.times[7] + large.times[8]) / 2);
    expect(time(132 * 128 * 20, 1024)).toBe(2 * large.times[8]);
    expect(time(132 * 128, 2048)).toBe(2 * large.times[0]);
    expect(time(132 * 128, 1024, false)).toBeCloseTo(large.looped * large.times[0]);
  });

  it('never fall where there is more to do', () => {
    for (const { times } of TIMED_TILES)
      expect([...times].sort((a, b) => a - b)).toEqual([...times]);
  });
});

describe('deep, small products', () => {
  const deep: MatmulSpec = { m: 20, n: 24, k: 4096, transposeA: true, biasRelu: true };

  it('are cut in pieces that divide the sum', () => {
    expect(matmulPieces(matmulKernel(deep), BASELINE_TARGET)).toBe(32);
    // So that every core gets the same number of workgroups.
    expect(matmulPieces(matmulKernel({ m: 512, n: 768, k: 3072 }), BASELINE_TARGET)).toBe(8);
    expect(matmulPieces(matmulKernel({ m: 512, n: 768, k: 128 }), BASELINE_TARGET)).toBe(1);
    expect(matmulPieces(matmulKernel({ m: 20, n: 24, k: 128 }), BASELINE_TARGET)).toBe(1);
    expect(matmulPieces(matmulKernel({ m: 8192, n: 8192, k: 65536 }), BASELINE_TARGET)).toBe(1);
    // 50257 is 29 times 1733; the last of 22 pieces is shorter.
    expect(matmulPieces(matmulKernel({ m: 512, n: 768, k: 50257 }), BASELINE_TARGET)).toBe(22);
    const { partial, sum, elements } = splitProduct(matmulKernel(deep), 8);
    for (const kernel of [partial, sum]) verifyKernel(kernel);
    expect([partial.params, sum.params].map((params) => params.map((param) => param.name))).toEqual(
      [
        ['a', 'b', 'partial'],
        ['bias', 'out', 'partial'],
      ],
    );
    expect(elements).toBe(8 * 20 * 24);
  });

  it.skipIf(gpu === null)('give what the whole product gives', async () => {
    for (const spec of [deep, { ...deep, k: 4099 }]) {
      const kernel = matmulKernel(spec);
      const executable = gpu!.backend.load(singlePlan(kernel, () => spec.k * spec.n));
      expect(executable.sources.map((source) => source.kernel)).toEqual([
        'matmul_partial',
        'matmul_sum',
      ]);
      executable.dispose();
      await compareKernel(gpu!, kernel, matmulData(spec), [], 20);
    }
  });
});
