import { matmulPieces, verifyKernel, type MatmulKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { generateKernel } from '../src/codegen/generate.js';
import { isHalf } from '../src/codegen/matrices/half-values.js';
import { generateMatrixMatmul } from '../src/codegen/matrices/matrix-matmul.js';
import {
  matrixBytes,
  matrixTile,
  matrixTilesFor,
  type MatrixTile,
} from '../src/codegen/matrices/matrix-tiles.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, type WgslTarget } from '../src/index.js';
import { halfMatrices } from '../src/runtime/device/matrix-shape.js';
import { emulateMatrices } from './support/emulated-matrices.js';
import {
  convolutionKernel,
  matmulData,
  matmulKernel,
  type MatmulSpec,
} from './support/matmul-kernel.js';
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

const TILES: readonly MatrixTile[] = matrixTilesFor(MATRICES);

function half(spec: Omit<MatmulSpec, 'dtype'>): MatmulKernel {
  return matmulKernel({ ...spec, dtype: 'float16' });
}

describe.skipIf(gpu === null)('products by subgroup matrices, emulated on the device', () => {
  async function compare(
    spec: Omit<MatmulSpec, 'dtype'>,
    tile: MatrixTile | null = null,
    options: { readonly offset?: number } = {},
  ): Promise<void> {
    const kernel = half(spec);
    verifyKernel(kernel);
    const { target } = gpu!.backend;
    // Halves are stored as the device stores them: the text is rewritten.
    const emulated: WgslTarget = {
      ...target,
      f16: true,
      subgroups: { min: 32, max: 32 },
      matrices: MATRICES.matrices,
    };
    const shape = emulated.matrices!;
    const data = matmulData({ ...spec, dtype: 'float16' });
    await compareKernel(gpu!, kernel, data, [], 3, {
      ...options,
      generate: (given, variant = directVariant(given.params.length)) => {
        const product = given as MatmulKernel;
        const chosen = tile ?? matrixTile(product, emulated)!;
        const program = generateMatrixMatmul(product, emulated, variant, chosen);
        return emulateMatrices(program, shape, 32);
      },
    });
  }

  // As single floats longer slabs of the larger one take more memory than there is.
  const small = TILES.filter(({ bm }) => bm < 128).map((tile) =>
    tile.bm === 64 ? { ...tile, bk: 32 } : tile,
  );
  for (const tile of small) {
    it(`computes the same with every tile: ${JSON.stringify(tile)}`, async () => {
      await compare({ m: 70, n: 77, k: 45, biasRelu: true }, tile);
      await compare({ m: 64, n: 64, k: 128, transposeB: true }, tile);
    });
  }

  for (const transposeA of [false, true]) {
    for (const transposeB of [false, true]) {
      it(`reads operands in any order: transposed A ${transposeA}, B ${transposeB}`, async () => {
        for (const size of [20, 31, 64])
          await compare({ m: size, n: size + 4, k: size, transposeA, transposeB, biasRelu: true });
      });
    }
  }

  it('multiplies batches, and views at odd offsets', async () => {
    await compare({ m: 17, n: 12, k: 20, batch: 3 });
    await compare({ m: 20, n: 24, k: 28, biasRelu: true }, null, { offset: 3 });
  });
});

describe('products by subgroup matrices', () => {
  const chosen = (spec: MatmulSpec, target = MATRICES): MatrixTile | null =>
    matrixTile(matmulKernel(spec), target);

  it('are those of two float16 operands, on devices that have matrices', () => {
    const spec: MatmulSpec = { m: 512, n: 512, k: 512 };
    expect(chosen({ ...spec, dtype: 'float16' })).not.toBeNull();
    expect(chosen({ ...spec, dtype: 'float16' }, BASELINE_TARGET)).toBeNull();
    expect(chosen({ ...spec, dtype: 'bfloat16' })).toBeNull();
    expect(chosen(spec)).toBeNull();
    // Not rounded to float16 before the product.
    expect(chosen({ ...spec, dtype: 'float16', squareA: true })).toBeNull();
    expect(chosen({ m: 1, n: 512, k: 512, dtype: 'float16' })).toBeNull();
  });

  it('are those of values that a cast rounds, or a mask makes zero', () => {
    const { a } = half({ m: 4, n: 4, k: 4 });
    const mask = { kind: 'const', dtype: 'bool', value: 1 } as const;
    expect(isHalf({ kind: 'masked', dtype: 'float32', mask, body: a, other: 0 })).toBe(true);
    expect(isHalf({ kind: 'masked', dtype: 'float32', mask, body: a, other: -0 })).toBe(false);
    const square = { kind: 'op', op: 'square', dtype: 'float32', args: [a] } as const;
    expect(isHalf(square)).toBe(false);
    expect(isHalf({ kind: 'op', op: 'cast', dtype: 'float16', args: [square] })).toBe(true);
    const whole = (value: number) => isHalf({ kind: 'const', dtype: 'float32', value });
    expect([1, -2048, 2049, 0.1, NaN].map(whole)).toEqual([true, true, false, false, false]);
    expect(isHalf(convolutionKernel({ n: 1, c: 1, h: 4, w: 4, o: 2, stride: 1 }).a)).toBe(false);
  });

  it('take large tiles where there are many results, and small ones elsewhere', () => {
    const rows = ({ bm, bn }: MatrixTile): number[] => [bm, bn];
    const tile = (m: number, n: number): MatrixTile => chosen({ m, n, k: 512, dtype: 'float16' })!;
    expect(rows(tile(4096, 4096))).toEqual([128, 256]);
    expect(rows(tile(2048, 1536))).toEqual([128, 128]);
    expect(rows(tile(1024, 1024))).toEqual([64, 64]);
    expect(rows(tile(16, 4096))).toEqual([16, 64]);
    expect(rows(tile(64, 32))).toEqual([32, 32]);
  });

  it('cut long sums of few results into pieces', () => {
    const pieces = (spec: MatmulSpec): number => {
      const kernel = half(spec);
      return matmulPieces(kernel, MATRICES, matrixTile(kernel, MATRICES));
    };
    expect(pieces({ m: 128, n: 128, k: 8192 })).toBeGreaterThan(4);
    expect(pieces({ m: 4096, n: 4096, k: 8192 })).toBe(1);
  });

  it('keep within the memory that they say, and use each size of subgroup whole', () => {
    const { text } = generateKernel(
      half({ m: 4096, n: 4096, k: 4096, transposeB: true }),
      MATRICES,
    );
    const arrays = [...text.matchAll(/var<workgroup> \w+: array<(vec4h|vec4u|vec4f), (\d+)>/g)];
    const bytes = arrays.map(([, type, length]) => (type === 'vec4h' ? 8 : 16) * Number(length));
    expect(bytes).toHaveLength(3);
    const tile = TILES[0];
    expect(bytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(
      matrixBytes(tile, MATRICES.matrices!),
    );
    expect(text).toContain('@workgroup_size(256)');
    expect(matrixTilesFor(BASELINE_TARGET)).toEqual([]);
    expect(matrixTilesFor({ ...MATRICES, maxWorkgroupBytes: 16384 })).not.toContain(tile);
  });

  it('are the largest that a device sums in float32', () => {
    const config = (componentType: string, resultComponentType: string, N: number) => ({
      componentType,
      resultComponentType,
      M: 16,
      N,
      K: 16,
    });
    const info = (configs: readonly unknown[]) =>
      ({ subgroupMatrixConfigs: configs }) as unknown as GPUAdapterInfo;
    expect(
      halfMatrices(
        info([
          config('f16', 'f16', 32),
          config('f16', 'f32', 8),
          config('f16', 'f32', 16),
          config('i8', 'i32', 32),
        ]),
      ),
    ).toEqual({ m: 16, n: 16, k: 16 });
    expect(halfMatrices(info([]))).toBeNull();
    expect(halfMatrices({} as GPUAdapterInfo)).toBeNull();
  });
});
