/**
 * @file Which subgroup matrices a device multiplies: WebGPU's proposal, as Dawn and Chromium have it behind a flag.
 */
import type { MatrixShape } from '../../codegen/target.js';

/** Feature of devices that have them. */
export const SUBGROUP_MATRIX = 'chromium-experimental-subgroup-matrix';

/** An entry of `GPUAdapterInfo.subgroupMatrixConfigs`. */
interface SubgroupMatrixConfig {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/** The largest matrices of float16 that are summed in float32, or null. */
export function halfMatrices(info: GPUAdapterInfo): MatrixShape | null {
  const { subgroupMatrixConfigs } = info as {
    readonly subgroupMatrixConfigs?: Iterable<SubgroupMatrixConfig>;
  };
  let best: MatrixShape | null = null;
  for (const config of subgroupMatrixConfigs ?? []) {
    if (config.componentType !== 'f16' || config.resultComponentType !== 'f32') continue;
    const { M: m, N: n, K: k } = config;
    if (best === null || m * n * k > best.m * best.n * best.k) best = { m, n, k };
  }
  return best;
}
