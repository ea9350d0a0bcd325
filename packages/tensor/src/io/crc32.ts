/**
 * @file CRC-32, as zip files have it: tells bytes that were damaged, not bytes that somebody forged.
 *
 * Eight bytes at a time ("slicing by 8"), with tables made on first use.
 */

let tables: Int32Array | null = null;

/** `tables[256 * k + b]`: what byte `b` does to the sum when `k` bytes follow it. */
function makeTables(): Int32Array {
  const t = new Int32Array(8 * 256);
  for (let b = 0; b < 256; b++) {
    let c = b;
    for (let bit = 0; bit < 8; bit++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
    t[b] = c;
  }
  for (let i = 256; i < t.length; i++) t[i] = (t[i - 256]! >>> 8) ^ t[t[i - 256]! & 255]!;
  return t;
}

/** The CRC-32 of bytes that follow others, whose sum is `crc` (0 at the start). */
export function crc32(bytes: Uint8Array, crc = 0): number {
  const t = (tables ??= makeTables());
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let c = ~crc;
  let i = 0;
  for (const end = bytes.byteLength - 7; i < end; i += 8) {
    const a = c ^ view.getInt32(i, true);
    const b = view.getInt32(i + 4, true);
    c =
      t[1792 + (a & 255)]! ^ t[1536 + ((a >>> 8) & 255)]! ^ t[1280 + ((a >>> 16) & 255)]! ^ t[1024 + (a >>> 24)]! ^
      t[768 + (b & 255)]! ^ t[512 + ((b >>> 8) & 255)]! ^ t[256 + ((b >>> 16) & 255)]! ^ t[b >>> 24]!; // prettier-ignore
  }
  for (; i < bytes.byteLength; i++) c = (c >>> 8) ^ t[(c ^ bytes[i]!) & 255]!;
  return ~c >>> 0;
}
