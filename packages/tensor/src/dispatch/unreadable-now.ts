/**
 * @file The errors of reading values of a device that only answers asynchronously.
 */
import { TesseraError } from '@tessera/shared';
import type { OpOverload } from '../op/op-overload.js';

/** The error of what needs values now; `hint` is what to await. */
export function asyncOnly(device: string, consequence: string, hint: string): TesseraError {
  return new TesseraError(
    'data-async-only',
    `Values on device '${device}' can only be read asynchronously, so ${consequence}.`,
    { context: { device }, hints: [`Write: await ${hint}.`] },
  );
}

/** The error of reading another device's values at once. */
export function unreadable(from: string, to: string): TesseraError {
  return asyncOnly(from, `they cannot be copied to '${to}' now`, 'download(x)');
}

/** The error of an operator whose result has a size that values decide; null where there is nothing to await instead. */
export function sizeUnknown(op: OpOverload, device: string): TesseraError | null {
  const { awaited } = op.record;
  if (awaited === undefined) return null;
  return asyncOnly(
    device,
    `the size of ${op.qualifiedName} is not known now`,
    `${awaited} of '@tessera/tensor/awaited'`,
  );
}
