import { IrBuilder, verifyKernel, type MatmulKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { bfloatProduct, inHalves, isBfloatProduct } from '../src/codegen/matrices/bfloat-matmul.js';
import { generateKernel } from '../src/codegen/generate.js';
import { generateMatrixMatmul } from '../src/codegen/matrices/matrix-matmul.js';
import { matrixTile } from '../src/codegen/matrices/matrix-tiles.js';
import { rewriteProducts, splitPlan } from '../src/codegen/matrices/rewrite-products.js';
import { directVariant } from '../src/codegen/variant.js';
import { BASELINE_TARGET, WgslExecutable, type WgslTarget } from '../src/index.js';
import { PlanCode } from '../src/runtime/plan/plan-code.js';
import { PlanMemory } from '../src/runtime/plan/plan-memory.js';
import { PlanRoutes } from '../src/runtime/plan/plan-routes.js';
import { emulateMatrices } from './support/emulated-matrices.js';
import { matmulKernel, type MatmulSpec } from './support/matmul-kernel.js';
import { openGpu } from './support/open-gpu.js';
import { deviceTensor, readTensor, singlePlan } from './support/plans.js';
import { expectClose, runReference } from './support/run-kernel.js';

const gpu = await openGpu();

const MATRICES: WgslTarget = {
  ...BASELINE_TARGET,
  f16: true,
  subgroups: { min: 32, max: 32 },
  matrices: { m: 16, n: 16, k: 16 },
  maxWorkgroupBytes: 49152,
};

interface Spec extends Omit<MatmulSpec, 'dtype'> {
  /** Adds to what is there instead of storing over it. */
  readonly inPlace?: boolean;
}

function product({ inPlace, ...spec }: Spec): MatmulKernel {
  const kernel = matmulKernel({ ...spec, dtype: 'bfloat16' });
  const [store] = kernel.epilogue;
  if (inPlace !== true || store.kind !== 'store') return kernel;
  const e = new IrBuilder();
  const there = e.cast(e.load('bfloat16', 'out', store.index), 'float32');
  const value = e.cast(e.op('add', [there, e.acc('float32', 0)]), 'bfloat16');
  return {
    ...kernel,
    params: kernel.params.map((param) =>
      param.name === 'out' ? { ...param, access: 'readwrite' } : param,
    ),
    epilogue: [{ ...store, value }],
  };
}

describe('large products of bfloat16', () => {
  const kernels = (spec: Spec, target = MATRICES): string[] => {
    const plan = singlePlan(product(spec), () => 1);
    return rewriteProducts(plan, target).kernels.map(({ name }) => name);
  };

  it('become products of float16 on devices with subgroup matrices, and a rest', () => {
    const large = { m: 4096, n: 4096, k: 4096 };
    expect(kernels(large)).toEqual([
      'matmul_pack_a',
      'matmul_extremes_b',
      'matmul_scales_b',
      'matmul_pack_b',
      'matmul_halves',
      'matmul_rest',
    ]);
    expect(kernels({ ...large, transposeB: true })).toEqual([
      'matmul_pack_a',
      'matmul_pack_b',
      'matmul_halves',
      'matmul_rest',
    ]);
    expect(kernels(large, BASELINE_TARGET)).toEqual(['matmul']);
    for (const [m, n, k] of [
      [1024, 1024, 1024],
      [512, 512, 4096],
      [128, 4096, 4096],
    ])
      expect(kernels({ m, n, k })).toContain('matmul_halves');
    const made = bfloatProduct(product(large), MATRICES)!.kernels;
    for (const kernel of made.slice(0, -1)) verifyKernel(kernel);
    // What it leaves to others is not seen by those who verify a product of all results.
    verifyKernel({ ...made.at(-1)!, params: product(large).params });
  });

  it('stay as they are where that costs more, or takes much memory', () => {
    for (const [m, n, k] of [
      [512, 512, 2048],
      [64, 4096, 4096],
    ])
      expect(kernels({ m, n, k })).not.toContain('matmul_halves');
    for (const spec of [
      { m: 64, n: 8192, k: 16384, transposeB: true },
      { m: 256, n: 256, k: 2 ** 18 },
      { m: 4096, n: 131072, k: 4096, transposeB: true },
    ])
      expect(kernels(spec)).not.toContain('matmul_halves');
  });

  it('have a rest that ends soon where there is none: with few groups, though a few rows alone would want many', () => {
    const rest = bfloatProduct(product({ m: 1024, n: 1024, k: 1024 }), MATRICES)!.kernels.at(-1)!;
    const { workgroups } = generateKernel(rest, MATRICES, directVariant(rest.params.length));
    expect(workgroups).toEqual([1024, 1]);
  });

  it('are those of values that bfloat16 holds', () => {
    expect(isBfloatProduct(product({ m: 4, n: 4, k: 4 }))).toBe(true);
    expect(isBfloatProduct(product({ m: 4, n: 4, k: 4, squareA: true }))).toBe(false);
    expect(isBfloatProduct(matmulKernel({ m: 4, n: 4, k: 4, dtype: 'float16' }))).toBe(false);
    expect(isBfloatProduct(product({ m: 1, n: 4, k: 4 }))).toBe(false);
  });
});

// A device that has halves of its own holds them in two bytes, which the emulation knows nothing of.
const emulates = gpu !== null && !gpu.device.features.has('shader-f16');
describe.skipIf(!emulates)('products of bfloat16 in halves, emulated on the device', () => {
  /** Runs all kernels of the product on the device, and compares with the reference. Gives the scales of A's rows. */
  async function compare(
    spec: Spec,
    fill: (buffer: string, row: number, k: number) => number,
  ): Promise<number[]> {
    const kernel = product(spec);
    const { batch = 1, m, n, k, transposeA = false, transposeB = false } = spec;
    const matrix = (name: string, rows: number, along: boolean): number[] =>
      Array.from({ length: batch * rows * k }, (_, i) => {
        const at = i % (rows * k);
        return along
          ? fill(name, Math.floor(at / k), at % k)
          : fill(name, at % rows, Math.floor(at / rows));
      });
    const data: Record<string, number[]> = {
      a: matrix('a', m, !transposeA),
      b: matrix('b', n, transposeB),
      ...(spec.biasRelu === true && { bias: Array.from({ length: n }, (_, i) => i / 8 - 1) }),
      out: new Array<number>(batch * m * n).fill(7),
    };
    const wanted = runReference(kernel, data);
    const { backend, runtime } = gpu!;
    const emulated: WgslTarget = {
      ...backend.target,
      subgroups: { min: 32, max: 32 },
      matrices: MATRICES.matrices,
    };
    const whole = splitPlan(
      singlePlan(kernel, (name) => data[name].length),
      (found) => inHalves(found as MatmulKernel),
    );
    // Scales are an argument too, to be looked at.
    const shown = whole.buffers.findIndex(({ name }) => name === 'matmul_scales_a');
    const inputs = kernel.params.length;
    const plan = {
      ...whole,
      buffers: whole.buffers.map((buffer, i) =>
        i === shown ? { ...buffer, source: { kind: 'input', index: inputs } as const } : buffer,
      ),
    };
    const code = new PlanCode(plan.kernels, (index, given) => {
      const part = plan.kernels[index];
      const variant = given ?? directVariant(part.params.length);
      if (part.kind !== 'matmul' || !part.name.endsWith('_halves'))
        return generateKernel(part, backend.target, variant);
      const tile = matrixTile(part, emulated)!;
      const program = generateMatrixMatmul(part, emulated, variant, tile);
      return emulateMatrices(program, emulated.matrices!, 32);
    });
    const numels = plan.buffers.map(({ numel }) => numel);
    const memory = new PlanMemory(runtime, plan.constants);
    const executable = new WgslExecutable(runtime, {
      routes: new PlanRoutes(runtime, plan, code, memory),
      computed: [],
      plan: () => plan,
      memory,
      ownsMemory: true,
    });
    const tensors = kernel.params.map(({ name, dtype }) => deviceTensor(gpu!, dtype, data[name]));
    const scales = deviceTensor(gpu!, 'float32', new Array<number>(numels[shown]).fill(0));
    executable.run([...tensors, scales], [], []);
    const out = tensors.at(-1)!;
    expectClose(await readTensor(gpu!, out), wanted.out, 'bfloat16', kernel.name);
    const found = await readTensor(gpu!, scales);
    for (const tensor of [...tensors, scales]) tensor.storage.release();
    executable.dispose();
    return found;
  }

  /** Numbers of a few bits, alike in every row. */
  const plain = (name: string, row: number, k: number): number =>
    (((row * 7 + k * (name === 'a' ? 5 : 3)) % 17) - 8) / 8;

  for (const transposeA of [false, true])
    for (const transposeB of [false, true])
      it(`read operands in any order: transposed A ${transposeA}, B ${transposeB}`, async () => {
        for (const size of [20, 31])
          await compare(
            { m: size, n: size + 4, k: 24, transposeA, transposeB, biasRelu: true },
            plain,
          );
      });

  it('multiply batches', async () => {
    await compare({ m: 18, n: 12, k: 20, batch: 3 }, plain);
  });

  it('give every row a power of two of its own, by which its values are exact', async () => {
    const size = (name: string, row: number): number => 2 ** (name === 'a' ? row * 4 - 36 : 20);
    const scales = await compare({ m: 20, n: 20, k: 32 }, (name, row, k) => {
      const spread = k === 0 ? 1.9921875 : k === 1 ? 2 ** -29 : plain(name, row, k);
      return spread * size(name, row);
    });
    expect(scales.slice(0, 20)).toEqual(
      Array.from({ length: 20 }, (_, row) => 2 ** (row * 4 - 36 - 15)),
    );
    expect(scales.slice(20)).toEqual(
      Array.from({ length: 20 }, (_, row) => 2 ** (15 + 36 - row * 4)),
    );
  });

  it('leave rows to the rest that float16 does not hold, in both factors', async () => {
    const odd = new Map<number, (k: number) => number>([
      [1, (k) => (k === 0 ? 1 : 2 ** -30)],
      [3, (k) => (k === 2 ? Infinity : 1)],
      [4, (k) => (k === 2 ? NaN : 1)],
      [6, (k) => (k === 2 ? -Infinity : 0)],
      [9, (k) => 2 ** (80 + (k % 3))],
      [11, (k) => 10 ** (((k * 7) % 31) - 15)],
    ]);
    const zero = 13;
    const tiny = 14;
    const fill = (name: string, row: number, k: number): number => {
      if (row === zero) return 0;
      if (row === tiny) return 2 ** -70 * (1 + (k % 3));
      return odd.get(row)?.(k) ?? plain(name, row, k);
    };
    for (const transposeB of [false, true]) {
      const scales = await compare({ m: 35, n: 34, k: 32, transposeB }, fill);
      const left = Array.from({ length: 35 }, (_, row) => row).filter((row) => scales[row] < 0);
      expect(left).toEqual([...odd.keys()]);
    }
    await compare({ m: 35, n: 34, k: 32, inPlace: true }, fill);
    // Alone in its factor.
    await compare({ m: 35, n: 34, k: 32 }, (name, row, k) =>
      name === 'a' && row === 20 ? fill('a', 11, k) : plain(name, row, k),
    );
  });
});
