/**
 * @file The error of reading values of a device that only answers asynchronously.
 */
import { TesseraError } from '@tessera/shared';

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
