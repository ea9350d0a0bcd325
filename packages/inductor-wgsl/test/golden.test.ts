/**
 * Generated WGSL of one kernel of each kind, as files: `npx vitest run -u` rewrites them.
 */
import { isStaticKernel, verifyKernel, type FusedKernel } from '@tessera/inductor-core';
import { ShapeEnv, sizeMul, type Size } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  BASELINE_TARGET,
  generateKernel,
  type KernelVariant,
  useSubgroupMatrices,
  type WgslTarget,
} from '../src/index.js';
import { inHalves } from '../src/codegen/matrices/bfloat-matmul.js';
import { forwardAttention, gradientAttention, keptAttention } from './support/attention-kernel.js';
import { recurrenceKernel } from './support/recurrence-kernel.js';
import { convolutionKernel, matmulKernel, matmulOfRows } from './support/matmul-kernel.js';
import {
  dropout,
  embedding,
  layerNorm,
  reduceMatrix,
  rowSums,
  rowTimesWords,
  sgdStep,
  siluAdd,
  softmax,
  spatialSum,
  transposedGelu,
} from './support/sample-kernels.js';

useSubgroupMatrices();

const SUBGROUPS: WgslTarget = { ...BASELINE_TARGET, subgroups: { min: 32, max: 32 } };
const ANY_SUBGROUPS: WgslTarget = { ...BASELINE_TARGET, subgroups: { min: 8, max: 64 } };
const HALF: WgslTarget = { ...BASELINE_TARGET, f16: true };
const MATRICES: WgslTarget = {
  ...HALF,
  subgroups: { min: 32, max: 32 },
  matrices: { m: 16, n: 16, k: 16 },
  maxWorkgroupBytes: 49152,
};

/** Sizes that are known when a kernel runs; the first ones seen were 4096. */
const env = new ShapeEnv();
const [N, M] = ['x', 'y'].map((source) => env.createSymbol(4096, { source, min: 2 })) as [
  Size,
  Size,
];

/** The kernels of a large product of bfloat16. */
const BFLOATS = inHalves(matmulKernel({ m: 4096, n: 4098, k: 4096, dtype: 'bfloat16' })).kernels;

const CASES: readonly (readonly [string, FusedKernel<Size>, WgslTarget, KernelVariant?])[] = [
  ['pointwise-vec4', siluAdd(4096), BASELINE_TARGET],
  ['pointwise-ragged', siluAdd(1027), BASELINE_TARGET],
  ['pointwise-large-grid', siluAdd(2 ** 27), BASELINE_TARGET],
  ['pointwise-any-size', siluAdd<Size>(N), BASELINE_TARGET],
  ['pointwise-any-rows', siluAdd<Size>(sizeMul(N, 64)), BASELINE_TARGET],
  ['pointwise-transposed', transposedGelu(64, 48), BASELINE_TARGET],
  ['pointwise-at-offsets', siluAdd(4096), BASELINE_TARGET, { offsets: true, slots: [0, 1, 2] }],
  ['in-place-shared-buffer', sgdStep(256), BASELINE_TARGET, { offsets: true, slots: [0, 1, 0] }],
  ['embedding', embedding(32, 64), BASELINE_TARGET],
  ['row-sums', rowSums(32, 64), BASELINE_TARGET],
  ['dropout', dropout(512), BASELINE_TARGET],
  [
    'attention-causal',
    forwardAttention({ batch: 2, m: 1024, j: 1024, width: 64, triangle: 'lower' }),
    BASELINE_TARGET,
  ],
  [
    'attention-matrices',
    forwardAttention({ batch: 2, m: 1000, j: 1000, width: 40, half: true }),
    MATRICES,
  ],
  [
    'attention-row',
    forwardAttention({ batch: 32, m: 1, j: 1000, width: 64, half: true }),
    { ...HALF, subgroups: { min: 32, max: 32 }, maxWorkgroupThreads: 1024 },
  ],
  [
    'attention-row-kept',
    forwardAttention({ batch: 32, m: 1, j: 256, width: 64, half: true }),
    { ...HALF, subgroups: { min: 32, max: 32 } },
  ],
  [
    'attention-row-alone',
    forwardAttention({ batch: 32, m: 1, j: 512, width: 80 }),
    BASELINE_TARGET,
  ],
  [
    'attention-gradients',
    gradientAttention({ batch: 2, m: 100, j: 100, width: 32, turns: 2 }),
    BASELINE_TARGET,
  ],
  [
    'attention-gradients-kept',
    gradientAttention({ batch: 2, m: 100, j: 100, width: 32, triangle: 'upper', kept: true }),
    BASELINE_TARGET,
  ],
  [
    'attention-of-kept',
    keptAttention({ batch: 2, m: 100, j: 100, width: 32, triangle: 'lower' }),
    BASELINE_TARGET,
  ],
  ['recurrence', recurrenceKernel(4, 92, 6), BASELINE_TARGET],
  ['recurrence-any-length', recurrenceKernel<Size>(N, M, 96), BASELINE_TARGET],
  ['recurrence-wide', recurrenceKernel<Size>(N, M, 301), BASELINE_TARGET],
  ['softmax-row', softmax(32, 2048), BASELINE_TARGET],
  ['softmax-long-row', softmax(32, 50000), BASELINE_TARGET],
  ['softmax-subgroups', softmax(32, 2048), SUBGROUPS],
  ['softmax-any-subgroup-size', softmax(32, 2048), ANY_SUBGROUPS],
  ['softmax-any-rows', softmax<Size>(N, 2048), BASELINE_TARGET],
  ['softmax-any-size', softmax<Size>(N, M), SUBGROUPS],
  ['layer-norm', layerNorm(64, 768), SUBGROUPS],
  ['argmax-short-rows', reduceMatrix('argmax', 'rows', 1797, 10), SUBGROUPS],
  ['column-sum', reduceMatrix('sum', 'columns', 1024, 512), BASELINE_TARGET],
  ['column-sum-wide', reduceMatrix('sum', 'columns', 64, 8192), BASELINE_TARGET],
  ['spatial-sum', spatialSum(8, 14, 14, 64), BASELINE_TARGET],
  [
    'matmul-bias-relu',
    matmulKernel({ m: 1024, n: 1024, k: 1024, transposeB: true, biasRelu: true }),
    BASELINE_TARGET,
  ],
  ['matmul-any-rows', matmulOfRows(N, { n: 64, k: 128 }), BASELINE_TARGET],
  ['matmul-small', matmulKernel({ m: 64, n: 10, k: 784, biasRelu: true }), BASELINE_TARGET],
  [
    'matmul-software',
    matmulKernel({ m: 64, n: 64, k: 64, transposeB: true, biasRelu: true }),
    { ...BASELINE_TARGET, software: true, parallelism: 4 },
  ],
  ['matmul-float16', matmulKernel({ m: 256, n: 256, k: 256, dtype: 'float16' }), HALF],
  [
    'matmul-matrices',
    matmulKernel({ m: 1024, n: 1000, k: 1024, dtype: 'float16', transposeB: true, biasRelu: true }),
    MATRICES,
  ],
  ['matmul-bfloat16-pack', BFLOATS[0], MATRICES],
  ['matmul-bfloat16-halves', BFLOATS.at(-2)!, MATRICES],
  ['matmul-bfloat16-rest', BFLOATS.at(-1)!, MATRICES],
  ['row-times-words', rowTimesWords(4096, 512), SUBGROUPS],
  ['matrix-vector', matmulKernel({ m: 1, n: 1024, k: 1024, transposeB: true }), SUBGROUPS],
  [
    'convolution',
    convolutionKernel({ n: 32, c: 8, h: 16, w: 16, o: 16, stride: 1 }),
    BASELINE_TARGET,
  ],
];

describe('generated WGSL', () => {
  for (const [name, kernel, target, variant] of CASES) {
    it(`${name} is as recorded`, async () => {
      // Verified as a product of all results, a rest has scales that nothing reads.
      if (isStaticKernel(kernel) && name !== 'matmul-bfloat16-rest') verifyKernel(kernel);
      const { text, workgroups } = generateKernel(kernel, target, variant);
      const grid = 'count' in workgroups ? String(workgroups.count) : workgroups.join(' × ');
      await expect(`// workgroups: ${grid}\n\n${text}`).toMatchFileSnapshot(`golden/${name}.wgsl`);
    });
  }

  it('does not depend on the kernel name', () => {
    const kernel = siluAdd(64);
    expect(generateKernel({ ...kernel, name: 'other' }, BASELINE_TARGET).text).toBe(
      generateKernel(kernel, BASELINE_TARGET).text,
    );
  });

  it('takes time that grows with the kernel, not faster', () => {
    const time = (depth: number): number => {
      const kernel = siluAdd(64);
      const store = kernel.stages[0].body[0];
      if (store.kind !== 'store') throw new Error('expected a store');
      let { value } = store;
      for (let i = 0; i < depth; i++)
        value = { kind: 'op', op: 'add', dtype: 'float32', args: [value, value] };
      const deep = { ...kernel, stages: [{ kind: 'outer' as const, body: [{ ...store, value }] }] };
      const start = performance.now();
      expect(generateKernel(deep, BASELINE_TARGET).text.split('\n').length).toBeGreaterThan(depth);
      return performance.now() - start;
    };
    time(1000);
    expect(time(20_000)).toBeLessThan(2000);
  });
});
