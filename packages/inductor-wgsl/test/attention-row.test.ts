/**
 * Attention of single rows: on the device as software makes it, as a GPU without subgroups makes it, and with them.
 */
import { verifyKernel, WIDEST_ATTENTION, type AttentionKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { attentionRow, LONGEST_ROW } from '../src/codegen/attention-rows/attention-row-shape.js';
import { generateRowAttention } from '../src/codegen/attention-rows/attention-row.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import {
  attentionData,
  forwardAttention,
  gradientAttention,
  type AttentionSpec,
} from './support/attention-kernel.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

const SHAPES: readonly AttentionSpec[] = [
  { batch: 3, m: 1, j: 64, width: 64 },
  { batch: 2, m: 1, j: 301, width: 20 },
  { batch: 1, m: 3, j: 33, width: 7 },
  { batch: 2, m: 3, j: 5, width: 2 },
  { batch: 1, m: 1, j: 70, width: 1 },
  { batch: 2, m: 1, j: 1, width: 80, half: true },
  { batch: 2, m: 4, j: 70, width: 12, triangle: 'lower' },
  { batch: 1, m: 2, j: 1024, width: 128, half: true },
  { batch: 2, m: 2, j: 128, width: 32 },
  { batch: 2, m: 3, j: 64, width: 32, half: true, triangle: 'lower' },
];

describe.skipIf(gpu === null)('attention of single rows on the device', () => {
  const own = gpu?.backend.target ?? BASELINE_TARGET;
  const targets: readonly (readonly [string, WgslTarget])[] = [
    ['as it is', own],
    ['as a GPU without subgroups', { ...BASELINE_TARGET, f16: own.f16 }],
    ...(own.subgroups === null
      ? []
      : ([['as a GPU with subgroups', { ...own, software: false }]] as const)),
  ];

  async function compare(
    kernel: AttentionKernel,
    data: Record<string, number[]>,
    target: WgslTarget,
  ): Promise<void> {
    verifyKernel(kernel);
    const used = Object.fromEntries(kernel.params.map(({ name }) => [name, data[name]]));
    await compareKernel(gpu!, kernel, used, [], 20, {
      generate: (given, variant = directVariant(given.params.length)) =>
        generateRowAttention(given as AttentionKernel, target, variant)!,
    });
  }

  for (const [name, target] of targets) {
    it.each(SHAPES)(`${name}: %j`, async (shape) => {
      await compare(forwardAttention(shape), attentionData(shape), target);
    });

    it(`${name}: gives zeros and -∞ for rows that see nothing`, async () => {
      const shape: AttentionSpec = { batch: 1, m: 3, j: 40, width: 8 };
      await compare(forwardAttention(shape), attentionData(shape, [0, 2]), target);
    });
  }
});

describe('rows of attention', () => {
  const row = (spec: AttentionSpec, target = BASELINE_TARGET) =>
    attentionRow(forwardAttention(spec), target);

  it('are few, of a known length that fits, weighed by a softmax', () => {
    const shape: AttentionSpec = { batch: 1, m: 1, j: LONGEST_ROW, width: 64 };
    expect(row(shape)).not.toBeNull();
    expect(row({ ...shape, m: 16 })).toBeNull();
    expect(row({ ...shape, j: LONGEST_ROW + 1 })).toBeNull();
    expect(attentionRow(gradientAttention(shape), BASELINE_TARGET)).toBeNull();
  });

  it('keep scores in registers where four keys for each thread are all, and fit', () => {
    const subgroups = { min: 32, max: 32 };
    const card = { ...BASELINE_TARGET, subgroups, f16: true, maxWorkgroupThreads: 1024 };
    const cached: AttentionSpec = { batch: 1, m: 1, j: 1024, width: 64, half: true };
    expect(row(cached, card)).toMatchObject({ keepsScores: true, threads: 256, perKey: 8 });
    expect(row({ ...cached, j: 2048 }, card)).toMatchObject({ keepsScores: true, threads: 512 });
    const others = [{ j: 1000 }, { j: 64 }, { width: 128 }, { half: false }];
    for (const other of others) expect(row({ ...cached, ...other }, card)?.keepsScores).toBe(false);
    expect(row(cached, { ...card, subgroups: null })?.keepsScores).toBe(false);
    expect(row({ ...cached, j: 2048 }, { ...card, maxWorkgroupThreads: 256 })).toMatchObject({
      keepsScores: false,
    });
  });

  it('fit a device with the least limits, for all heads that are taken', () => {
    for (const subgroups of [null, { min: 4, max: 128 }, { min: 32, max: 32 }])
      for (let width = 1; width <= WIDEST_ATTENTION; width++)
        expect(
          row({ batch: 1, m: 1, j: LONGEST_ROW, width }, { ...BASELINE_TARGET, subgroups }),
        ).toMatchObject({ perColumn: 2 ** Math.max(0, Math.ceil(Math.log2(width / 4))) });
  });

  it('keep a program within the memory and threads of the device', () => {
    const kernel = forwardAttention({ batch: 1, m: 1, j: LONGEST_ROW, width: WIDEST_ATTENTION });
    for (const subgroups of [null, { min: 32, max: 32 }]) {
      const target = { ...BASELINE_TARGET, subgroups };
      const { text } = generateRowAttention(kernel, target, directVariant(6))!;
      const arrays = [...text.matchAll(/var<workgroup> \w+: array<(vec4f|f32), (\d+)>/g)];
      const bytes = arrays.map(([, type, length]) => (type === 'f32' ? 4 : 16) * Number(length));
      expect(arrays.length).toBeGreaterThan(3);
      expect(bytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(target.maxWorkgroupBytes);
      expect(Number(/workgroup_size\((\d+)\)/.exec(text)![1])).toBeLessThanOrEqual(256);
    }
  });
});
