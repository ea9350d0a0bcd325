/**
 * @file Tests and sources of this repository read values of the CPU at once unless they `await`; programs for
 * users (`apps/demo`, `examples`) are checked without this, as their types are by default.
 */
import type { TypeChoices } from '../packages/tensor/src/index.js';

declare module '../packages/tensor/src/index.js' {
  interface TypeChoices {
    readonly onlyCpu: true;
  }
}
