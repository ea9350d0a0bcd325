/**
 * @file What schedules may know of WebAssembly with 128-bit vectors.
 */
import type { GemvTarget, VectorTarget } from '@tessera/inductor-core';
import type { CodeOptions } from '../body/vector-builder.js';

/** See the file header. */
export const CPU_TARGET: VectorTarget = {
  arithmetic: {
    widestFloat: 'float64',
    int64: 'native',
    // `f32x4.max` takes about eight machine instructions, `f32x4.pmax` one.
    separateNan: true,
    comparesNan: true,
    skipsIdleLanes: true,
  },
  wideFunctions: false,
  // Half of a cache of the second level, as small as they come.
  scratchBytes: 1 << 17,
  nearBytes: 1 << 16,
  tile: { rows: 4, vectors: 2 },
  // 384 × 256 float32: 384 KiB of the cache of the second level.
  block: { columnBytes: 1024, stepBytes: 1536, rows: 64 },
};

/** The same for products with narrow weights, on this machine. */
export function gemvTarget(options: CodeOptions): GemvTarget {
  const { pairProducts = false, relaxedSimd: fusedMultiplyAdd, rowBits = 32 } = options;
  const { scratchBytes } = CPU_TARGET;
  return { scratchBytes, pairProducts, fusedMultiplyAdd, rowBits };
}
