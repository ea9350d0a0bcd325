/**
 * @file `useHistograms`: counts of elements by bins on devices without reference kernels.
 */
import { histogramLowerings } from './ops/histogram.js';
import { registeredLowerings } from './registry.js';

/**
 * Brings `histc`, `histogram` and `nonzeroStatic` to `wgpu`, eager and compiled, and `histc` with given ends to the CPU, where its
 * reference kernel takes 15 times as long. Node has them from the start; a page that calls them calls this once, before.
 */
export function useHistograms(): void {
  for (const [op, fn] of Object.entries(histogramLowerings)) registeredLowerings.set(op, fn);
}
