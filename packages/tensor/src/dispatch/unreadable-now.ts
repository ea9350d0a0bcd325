/**
 * @file The errors of reading values of a device that only answers asynchronously.
 */
import { TesseraError } from '@tessera/shared';
import type { OpOverload } from '../op/op-overload.js';

/** The error of reading another device's values at once. */
export function unreadable(from: string, to: string): TesseraError {
  return new TesseraError(
    'data-async-only',
    `Values on device '${from}' can only be read asynchronously, so they cannot be copied to '${to}' now.`,
    {
      context: { from, to },
      hints: ['Write: await download(x), then .to() if you need another device.'],
    },
  );
}

/** The error of an operator whose result has a size that values decide; null where there is nothing to await instead. */
export function sizeUnknown(op: OpOverload, device: string): TesseraError | null {
  const { awaited } = op.record;
  if (awaited === undefined) return null;
  return new TesseraError(
    'data-async-only',
    `The size of the result of ${op.qualifiedName} depends on values, which device '${device}' only gives asynchronously.`,
    {
      context: { op: op.qualifiedName, device },
      hints: [`Write: await ${awaited} (of '@tessera/tensor/awaited').`],
    },
  );
}
