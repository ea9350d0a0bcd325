/**
 * @file Files in one: per file the lengths of name and bytes (16 and 32 bits), the name, the bytes.
 */

/** Files of an archive by name. */
export function unpack(archive: Uint8Array): Map<string, Uint8Array> {
  const bytes = new Uint8Array(archive);
  const view = new DataView(bytes.buffer);
  const files = new Map<string, Uint8Array>();
  for (let at = 0; at < bytes.byteLength;) {
    const [nameLength, length] = [view.getUint16(at, true), view.getUint32(at + 2, true)];
    const start = at + 6 + nameLength;
    const path = new TextDecoder().decode(bytes.subarray(at + 6, start));
    files.set(path, bytes.subarray(start, start + length));
    at = start + length;
  }
  return files;
}
