/**
 * @file Whether an object that is not followed is the same, and holds the same where it can be asked.
 */

/** A check for the value as it is now. */
export function sameOpaque(value: unknown): (now: unknown) => boolean {
  if (value instanceof Date) {
    const time = value.getTime();
    return (now) => now === value && Object.is(value.getTime(), time);
  }
  const read = bytesOf(value);
  if (read === null) return (now) => now === value;
  const before = read()!.slice();
  return (now) => {
    if (now !== value) return false;
    const bytes = read();
    if (bytes === null || bytes.length !== before.length) return false;
    for (let i = 0; i < before.length; i++) if (bytes[i] !== before[i]) return false;
    return true;
  };
}

/** Reads the memory of a typed array or buffer, by words where it is aligned; null for other values. */
function bytesOf(value: unknown): (() => Uint8Array | Int32Array | null) | null {
  if (ArrayBuffer.isView(value))
    return () => words(value.buffer, value.byteOffset, value.byteLength);
  const shared = typeof SharedArrayBuffer !== 'undefined' && value instanceof SharedArrayBuffer;
  if (shared || value instanceof ArrayBuffer) return () => words(value, 0, value.byteLength);
  return null;
}

function words(
  buffer: ArrayBufferLike,
  offset: number,
  length: number,
): Uint8Array | Int32Array | null {
  return offset % 4 === 0 && length % 4 === 0
    ? new Int32Array(buffer, offset, length / 4)
    : new Uint8Array(buffer, offset, length);
}
