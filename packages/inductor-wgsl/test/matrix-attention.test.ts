import { attentionNeeds, verifyKernel, type AttentionKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import {
  MATRIX_ATTENTION_TILES,
  matrixAttentionFits,
  matrixAttentionTile,
  type MatrixAttentionTile,
} from '../src/codegen/matrices/matrix-attention-tiles.js';
import { generateMatrixAttention } from '../src/codegen/matrices/matrix-attention.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import {
  attentionData,
  forwardAttention,
  gradientAttention,
  type AttentionSpec,
} from './support/attention-kernel.js';
import { emulateMatrices } from './support/emulated-matrices.js';
import { openGpu } from './support/open-gpu.js';
import { compareKernel } from './support/run-kernel.js';

const gpu = await openGpu();

/** What Dawn says of NVIDIA's cards. */
const MATRICES: WgslTarget = {
  ...BASELINE_TARGET,
  f16: true,
  subgroups: { min: 32, max: 32 },
  matrices: { m: 16, n: 16, k: 16 },
  maxWorkgroupBytes: 49152,
};

const [WIDE, LARGE, SMALL] = MATRIX_ATTENTION_TILES;

describe.skipIf(gpu === null)('attention by subgroup matrices, emulated on the device', () => {
  // Halves are stored as the device stores them, and matrices' are single floats, which take twice the memory.
  const emulated: WgslTarget = {
    ...(gpu?.backend.target ?? BASELINE_TARGET),
    f16: true,
    subgroups: { min: 32, max: 32 },
    matrices: MATRICES.matrices,
  };

  async function compare(
    kernel: AttentionKernel,
    data: Record<string, number[]>,
    tile: MatrixAttentionTile = SMALL,
  ): Promise<void> {
    verifyKernel(kernel);
    const used = Object.fromEntries(kernel.params.map(({ name }) => [name, data[name]]));
    await compareKernel(gpu!, kernel, used, [], kernel.softmax ? 20 : 60, {
      generate: (given, variant = directVariant(given.params.length)) => {
        const attention = given as AttentionKernel;
        const program = generateMatrixAttention(attention, emulated, variant, tile);
        return emulateMatrices(program, emulated.matrices!, 32);
      },
    });
  }

  const SHAPES: readonly AttentionSpec[] = [
    { batch: 2, m: 32, j: 32, width: 16, half: true },
    { batch: 1, m: 33, j: 57, width: 20, half: true },
    // More than one chunk of factors.
    { batch: 1, m: 33, j: 40, width: 72, half: true },
  ];
  for (const shape of SHAPES) {
    it(`weighs values by a softmax: ${JSON.stringify(shape)}`, async () => {
      await compare(forwardAttention(shape), attentionData(shape));
      const causal: AttentionSpec = { ...shape, triangle: 'lower' };
      await compare(forwardAttention(causal), attentionData(causal));
    });

    it(`sums gradients: ${JSON.stringify(shape)}`, async () => {
      await compare(gradientAttention(shape), attentionData(shape));
      const shared: AttentionSpec = { ...shape, triangle: 'upper', turns: 3 };
      await compare(gradientAttention(shared), attentionData(shared));
    });
  }

  it('scales what there is of results when logits grow', async () => {
    const shape: AttentionSpec = { batch: 1, m: 20, j: 200, width: 16, half: true };
    const data = attentionData(shape);
    // The bias rises in steps, some of them larger than what is put off.
    const bias = data.bias.map((value, i) => value + 5 * Math.floor((i % 200) / 40));
    await compare(forwardAttention(shape), { ...data, bias });
  });

  it('gives zeros and -∞ for rows that see nothing', async () => {
    const shape: AttentionSpec = { batch: 1, m: 20, j: 40, width: 8, half: true };
    await compare(forwardAttention(shape), attentionData(shape, [0, 7, 19]));
  });
});

describe('attention by subgroup matrices', () => {
  const chosen = (
    kernel: AttentionKernel,
    target: WgslTarget = MATRICES,
  ): MatrixAttentionTile | null => matrixAttentionTile(kernel, attentionNeeds(kernel), target);
  const spec: AttentionSpec = { batch: 48, m: 1024, j: 1024, width: 64, half: true };

  it('is that of float16 operands, on devices that have matrices', () => {
    expect(chosen(forwardAttention(spec))).toBe(LARGE);
    expect(chosen(gradientAttention(spec))).not.toBeNull();
    expect(chosen(forwardAttention({ ...spec, width: 128 }))).toBe(WIDE);
    expect(chosen(forwardAttention(spec), BASELINE_TARGET)).toBeNull();
    expect(chosen(forwardAttention({ ...spec, half: false }))).toBeNull();
    expect(chosen(forwardAttention({ ...spec, width: 200 }))).toBeNull();
  });

  it('takes small tiles where there is little to do, or little memory', () => {
    expect(chosen(forwardAttention({ ...spec, batch: 4 }))).toBe(SMALL);
    expect(chosen(forwardAttention(spec), { ...MATRICES, maxWorkgroupBytes: 16384 })).toBe(SMALL);
    expect(chosen(forwardAttention(spec), { ...MATRICES, maxWorkgroupBytes: 8192 })).toBeNull();
  });

  it('takes the workgroup memory that is counted', () => {
    for (const [shape, tile] of [
      [spec, LARGE],
      [{ ...spec, width: 128 }, LARGE],
      [{ ...spec, width: 128 }, WIDE],
      [{ ...spec, width: 40 }, SMALL],
    ] as const) {
      const kernel = forwardAttention(shape);
      const { text } = generateMatrixAttention(
        kernel,
        MATRICES,
        directVariant(kernel.params.length),
        tile,
      );
      const bytes = workgroupBytes(text);
      const fits = (maxWorkgroupBytes: number): boolean =>
        matrixAttentionFits(tile, kernel, { ...MATRICES, maxWorkgroupBytes });
      expect(fits(bytes)).toBe(true);
      expect(fits(bytes - 16)).toBe(false);
    }
  });

  it('reads eight halves at a time where they lie together, and nothing else is read of their buffers', () => {
    const words = (shape: AttentionSpec): number => {
      const kernel = forwardAttention(shape);
      const variant = directVariant(kernel.params.length);
      const { text } = generateMatrixAttention(kernel, MATRICES, variant, SMALL);
      return text.split('var<storage, read> ').filter((line) => /^\w+: array<vec4u>/.test(line))
        .length;
    };
    expect(words(spec)).toBe(3);
    expect(words({ ...spec, width: 20 })).toBe(0);
  });

  it('loads matrices from multiples of 16 bytes', () => {
    const kernel = forwardAttention({ ...spec, width: 40 });
    const variant = directVariant(kernel.params.length);
    const { text } = generateMatrixAttention(kernel, MATRICES, variant, SMALL);
    const sizes = arrays(text);
    // Where the last begins, a driver may put another first.
    for (const bytes of sizes) expect(bytes % 16).toBe(0);
    expect(sizes.length).toBeGreaterThan(3);
  });
});

const ELEMENT = { f32: 4, vec4h: 8, vec4u: 16, vec4f: 16, 'atomic<u32>': 4 } as const;

/** Bytes of each workgroup variable of a text, as it declares them. */
function arrays(text: string): number[] {
  return [...text.matchAll(/var<workgroup> \w+: (.*);/g)].map(([, type]) => bytesOf(type));
}

function bytesOf(type: string): number {
  const array = /^array<(.*), (\d+)>$/.exec(type);
  return array === null
    ? ELEMENT[type as keyof typeof ELEMENT]
    : bytesOf(array[1]) * Number(array[2]);
}

function workgroupBytes(text: string): number {
  return Math.ceil(arrays(text).reduce((sum, bytes) => sum + bytes, 0) / 16) * 16;
}
