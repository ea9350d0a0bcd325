/**
 * @file Whether an object that is not followed is the same, and says the same where it can be asked.
 */

/** Bytes of a typed array that are compared; longer ones are data, not settings. */
const COMPARED = 1 << 16;

/** A check for the value as it is now. */
export function sameOpaque(value: unknown): (now: unknown) => boolean {
  if (value instanceof Date) {
    const time = value.getTime();
    return (now) => now === value && Object.is(value.getTime(), time);
  }
  if (ArrayBuffer.isView(value) && value.byteLength <= COMPARED) {
    const bytes = (): Uint8Array =>
      new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    const before = bytes().slice();
    return (now) => now === value && bytes().every((byte, i) => byte === before[i]);
  }
  return (now) => now === value;
}
