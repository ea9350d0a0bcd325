/**
 * @file Public API of `@tessera/tensor/awaited`: operators whose results have sizes that depend on values, for devices that
 * are read asynchronously, and for code that runs on every device.
 *
 * On `cpu` they are the operators without `Async`. Elsewhere kernels count, a number or two are read, and kernels make
 * the result: the values stay on the device.
 */
// Who has tensors has the index; said here, it makes of what both share one file, which compresses better.
import './index.js';
export { argwhereAsync, nonzeroAsync, nonzeroNumpyAsync } from './ops/awaited/nonzero.js';
export { indexAsync, maskedSelectAsync } from './ops/awaited/masked.js';
export { uniqueAsync, uniqueConsecutiveAsync } from './ops/awaited/unique.js';
export { bincountAsync } from './ops/awaited/bincount.js';
export { repeatInterleaveAsync } from './ops/awaited/repeat-interleave.js';
