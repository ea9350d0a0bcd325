/**
 * @file `@tessera/tensor/more`: functions of `torch` that few programs need, beside the list of the main entry.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export {
  type AnyGradHook,
  type MultiGradHook,
  type MultiGradHookOptions,
  registerMultiGradHook,
} from './autograd/multi-grad-hook.js';
export { unravelIndex } from './ops/indexing/unravel.js';
export { type HistogramddOptions, histogramdd } from './ops/reduction/histogramdd.js';
export type { FloatDType, IntegerDType } from './dtype.js';
export { type FloatInfo, type IntegerInfo, finfo, iinfo } from './number-limits.js';
export type { PrintSettings } from './print-options-state.js';
export { type PrintOptions, getPrintoptions, setPrintoptions } from './print-options.js';
export { emptyStrided, newEmptyStrided, newTensor } from './ops/factory/strided.js';
export { normal } from './ops/random/normal.js';
export { random_ } from './ops/random/random-fill.js';
export { resize_ } from './ops/arrange/resize.js';
export { viewDtype } from './ops/view/bits.js';
