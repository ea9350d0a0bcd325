/**
 * @file `ByteFile`: a file that grows at its end, of any size.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

/** Most bytes of one write. */
const CHUNK = 2 ** 28;

/** See the file header. */
export class ByteFile {
  private readonly file: number;
  private written = 0;

  constructor(readonly path: string) {
    this.file = openSync(path, 'w');
  }

  /** Bytes so far. */
  get length(): number {
    return this.written;
  }

  /** Adds bytes at the end. */
  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += CHUNK)
      writeSync(this.file, bytes.subarray(at, at + CHUNK));
    this.written += bytes.length;
  }

  /** Adds zeros up to a multiple of `alignment`; returns the length. */
  align(alignment: number): number {
    const missing = (alignment - (this.written % alignment)) % alignment;
    if (missing > 0) this.add(new Uint8Array(missing));
    return this.written;
  }

  close(): void {
    closeSync(this.file);
  }
}
