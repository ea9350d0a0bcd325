/**
 * @file The default floating-point dtype of new tensors.
 */
import { TesseraError } from '@tessera/shared';
import type { DType } from './dtype.js';

let current: DType = 'float32';

/** The dtype that floating-point numbers become. */
export function defaultDType(): DType {
  return current;
}

/** Changes it. @throws dtype-unsupported */
export function setDefaultDType(dtype: DType): void {
  if (!(
    dtype === 'float32' ||
    dtype === 'float64' ||
    dtype === 'float16' ||
    dtype === 'bfloat16'
  )) {
    throw new TesseraError(
      'dtype-unsupported',
      `Only floating-point types are supported as the default type, not ${dtype}.`,
      {
        hints: ["Use 'float32' or 'float64'."],
      },
    );
  }
  current = dtype;
}
