/**
 * @file What schedules may know of WebAssembly with 128-bit vectors.
 */
import type { TargetDescription } from '@tessera/inductor-core';

/** See the file header. */
export const CPU_TARGET: TargetDescription = {
  widestFloat: 'float64',
  int64: 'native',
  // `f32x4.max` takes about eight machine instructions, `f32x4.pmax` one.
  separateNan: true,
  comparesNan: true,
  skipsIdleLanes: true,
};
