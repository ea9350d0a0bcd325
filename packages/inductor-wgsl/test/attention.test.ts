import {
  ATTENTION_TILES,
  type AttentionChoices,
  attentionFits,
  type AttentionKernel,
  chooseAttentionTile,
  verifyKernel,
  WIDEST_ATTENTION,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { generateAttention } from '../src/codegen/scheduled/attention.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET } from '../src/index.js';
import { wgslCapabilities } from '../src/runtime/wgsl-backend.js';
import {
  attentionData,
  forwardAttention,
  gradientAttention,
  keptAttention,
  type AttentionSpec,
} from './support/attention-kernel.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

const SHAPES: readonly AttentionSpec[] = [
  { batch: 2, m: 32, j: 32, width: 16 },
  { batch: 1, m: 33, j: 57, width: 20 },
  { batch: 3, m: 70, j: 30, width: 7 },
  { batch: 1, m: 17, j: 100, width: 64 },
  { batch: 1, m: 64, j: 1, width: 36 },
];

describe.skipIf(gpu === null)('attention kernels on the device', () => {
  const used = (kernel: AttentionKernel, data: Record<string, number[]>): typeof data =>
    Object.fromEntries(kernel.params.map(({ name }) => [name, data[name]]));

  async function compare(
    kernel: AttentionKernel,
    data: Record<string, number[]>,
    choices?: AttentionChoices,
  ): Promise<void> {
    verifyKernel(kernel);
    await compareKernel(gpu!, kernel, used(kernel, data), [], kernel.softmax ? 20 : 60, {
      ...(choices !== undefined && {
        generate: (given, variant) =>
          generateAttention(
            given as AttentionKernel,
            gpu!.backend.target,
            variant ?? directVariant(given.params.length),
            choices,
          ),
      }),
    });
  }

  for (const shape of SHAPES) {
    it(`weighs values by a softmax: ${JSON.stringify(shape)}`, async () => {
      await compare(forwardAttention(shape), attentionData(shape));
      const causal: AttentionSpec = { ...shape, triangle: 'lower' };
      await compare(forwardAttention(causal), attentionData(causal));
    });

    it(`sums gradients: ${JSON.stringify(shape)}`, async () => {
      await compare(gradientAttention(shape), attentionData(shape));
      for (const triangle of ['upper', 'none'] as const) {
        const shared: AttentionSpec = { ...shape, triangle, turns: 3 };
        await compare(gradientAttention(shared), attentionData(shared));
      }
    });
  }

  it.each(SHAPES)('stores weights, and sums with them: %o', async (shape) => {
    const data = attentionData(shape);
    await compare(gradientAttention({ ...shape, turns: 3, kept: true }), {
      ...attentionData({ ...shape, turns: 3 }),
    });
    const kept = data['kept']!.map(() => 0);
    const causal: AttentionSpec = { ...shape, triangle: 'upper', kept: true };
    await compare(gradientAttention(causal), { ...data, kept });
    for (const triangle of ['none', 'lower'] as const)
      await compare(keptAttention({ ...shape, triangle }), data);
  });

  it('gives zeros and -∞ for rows that see nothing', async () => {
    const shape: AttentionSpec = { batch: 1, m: 20, j: 40, width: 8 };
    await compare(forwardAttention(shape), attentionData(shape, [0, 7, 19]));
  });

  for (const tile of sampled(ATTENTION_TILES, 2)) {
    it(`computes the same with every tile: ${JSON.stringify(tile)} (${sampleName})`, async () => {
      const shape: AttentionSpec = { batch: 2, m: 75, j: 75, width: 24 };
      const causal: AttentionSpec = { ...shape, triangle: 'lower' };
      await compare(forwardAttention(causal), attentionData(causal), { tile });
      await compare(gradientAttention(shape), attentionData(shape), { tile });
    });
  }
});

describe('gradients of scores', () => {
  it('are kept where they are one binding of at most 256 MiB, of heads of 64 on', () => {
    const keeps = (count: number, width: number, maxBindingBytes: number): boolean | undefined =>
      wgslCapabilities({ ...BASELINE_TARGET, maxBindingBytes }).attention!.limits.keepsWeights?.(
        count,
        width,
      );
    expect(keeps(2 ** 26, 64, 2 ** 31)).toBe(true);
    expect(keeps(2 ** 26 + 1, 64, 2 ** 31)).toBe(false);
    expect(keeps(2 ** 26, 63, 2 ** 31)).toBe(false);
    expect(keeps(2 ** 25, 64, 2 ** 27)).toBe(true);
    expect(keeps(2 ** 25 + 1, 64, 2 ** 27)).toBe(false);
  });
});

describe('tiles of attention', () => {
  it('fit a device with the least limits, for all heads that are taken', () => {
    for (const software of [false, true]) {
      for (let width = 1; width <= WIDEST_ATTENTION; width++) {
        const target = { ...BASELINE_TARGET, software };
        const needs = { width, scores: 2, results: 2, batch: 1, rows: 1000, columns: 1000 };
        expect(attentionFits(chooseAttentionTile(needs, target), needs, target)).toBe(true);
      }
    }
  });

  it('have fewer rows where there is less to do', () => {
    const needs = { scores: 1, results: 1, rows: 1024, columns: 1024 };
    const target = { ...BASELINE_TARGET, maxWorkgroupBytes: 49152 };
    for (const width of [64, 128]) {
      const rows = [48, 4, 1].map(
        (batch) => chooseAttentionTile({ ...needs, width, batch }, target).bm,
      );
      expect(rows).toEqual([64, 32, 16]);
    }
  });

  it('of software adapters do not make twice the rows or columns that are needed', () => {
    const needs = { width: 8, scores: 1, results: 1, batch: 8 };
    const target = { ...BASELINE_TARGET, software: true, parallelism: 4 };
    const rows = [1, 16, 17, 32, 33, 1000].map(
      (count) => chooseAttentionTile({ ...needs, rows: count, columns: count }, target).bm,
    );
    expect(rows).toEqual([16, 16, 32, 32, 32, 32]);
    expect(chooseAttentionTile({ ...needs, rows: 64, columns: 8 }, target).bn).toBe(16);
  });

  it('keep a program within the memory that they say', () => {
    const shape: AttentionSpec = { batch: 1, m: 500, j: 500, width: WIDEST_ATTENTION };
    const { text } = generateAttention(gradientAttention(shape), BASELINE_TARGET, directVariant(7));
    const arrays = [
      ...text.matchAll(/var<workgroup> \w+: array<array<(vec4f|f32), (\d+)>, (\d+)>/g),
    ];
    const bytes = arrays.map(
      ([, type, length, rows]) => (type === 'f32' ? 4 : 16) * Number(length) * Number(rows),
    );
    expect(bytes).not.toEqual([]);
    expect(bytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(BASELINE_TARGET.maxWorkgroupBytes);
  });
});
