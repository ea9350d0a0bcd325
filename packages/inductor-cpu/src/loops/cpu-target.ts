/**
 * @file What schedules may know of WebAssembly with 128-bit vectors.
 */
import type { VectorTarget } from '@tessera/inductor-core';

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
};
