/**
 * Subgroup matrices are used by programs that ask for their code: a process of its own, in which nothing else does.
 */
import { setLogs, setLogSink } from '@tessera/shared';
import { afterEach, expect, it } from 'vitest';
import { rewriteProducts } from '../src/codegen/matrices/rewrite-products.js';
import {
  BASELINE_TARGET,
  generateKernel,
  useSubgroupMatrices,
  type WgslTarget,
} from '../src/index.js';
import { GpuContext } from '../src/runtime/device/gpu-context.js';
import { SUBGROUP_MATRIX } from '../src/runtime/device/matrix-shape.js';
import { forwardAttention } from './support/attention-kernel.js';
import { matmulKernel } from './support/matmul-kernel.js';
import { singlePlan } from './support/plans.js';

const TARGET: WgslTarget = {
  ...BASELINE_TARGET,
  f16: true,
  subgroups: { min: 32, max: 32 },
  matrices: { m: 16, n: 16, k: 16 },
  maxWorkgroupBytes: 49152,
};

/** A device of Chromium with its flag, on NVIDIA. */
const DEVICE = {
  limits: {},
  features: new Set(['subgroups', 'shader-f16', SUBGROUP_MATRIX]),
  lost: new Promise(() => {}),
  adapterInfo: {
    subgroupMinSize: 32,
    subgroupMaxSize: 32,
    subgroupMatrixConfigs: [
      { componentType: 'f16', resultComponentType: 'f32', M: 16, N: 16, K: 16 },
    ],
  },
} as unknown as GPUDevice;

afterEach(() => {
  setLogs({ perf: false });
  setLogSink(undefined);
});

it('uses subgroup matrices once the program has called useSubgroupMatrices', () => {
  const lines: string[] = [];
  setLogSink((_artifact, text) => lines.push(text));
  setLogs({ perf: true });
  const product = matmulKernel({ m: 512, n: 512, k: 512, dtype: 'float16' });
  const attention = forwardAttention({ batch: 4, m: 128, j: 128, width: 64, half: true });
  const bfloat = singlePlan(
    matmulKernel({ m: 4096, n: 4096, k: 4096, dtype: 'bfloat16' }),
    () => 4096 ** 2,
  );
  const uses = () => ({
    matrices: [product, attention].map((kernel) =>
      generateKernel(kernel, TARGET).text.includes('subgroup_matrix'),
    ),
    halves: rewriteProducts(bfloat, TARGET) !== bfloat,
    device: GpuContext.wrap(DEVICE).target.matrices,
  });

  expect(uses()).toEqual({ matrices: [false, false], halves: false, device: null });
  expect(lines.join()).toContain('call useSubgroupMatrices() before initWebGpu()');

  lines.length = 0;
  useSubgroupMatrices();
  expect(uses()).toEqual({ matrices: [true, true], halves: true, device: TARGET.matrices });
  expect(lines).toEqual([]);
});
