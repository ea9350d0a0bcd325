/**
 * @file A file in the cache: the bytes, and behind them what they are and how to check them.
 *
 * Layout: data, a description in JSON, its length and its CRC-32 (32 bits each, little-endian), 8 bytes that end
 * every entry. The data has a CRC-32 for each block of 1 MiB, which is checked before a byte of it is used. An entry
 * that was cut off has no end, so it is none.
 */
import type { ByteFile, ByteReader } from '../byte-file.js';
import { crc32 } from '../crc32.js';
import type { Validators } from '../http-answer.js';
import type { StoreWriter, StoredFile } from './cache-store.js';

const BLOCK_BYTES = 1_048_576;
const MAGIC = 'tessera1';
const END_BYTES = 16;

/** A block of a cached file is not what was written: the entry is to be removed and the file fetched again. */
function damaged(url: string): Error {
  return Object.assign(new Error(`A cached copy of ${url} is damaged`), { damagedUrl: url });
}

/** The address whose entry an error says is damaged; null for other errors. */
export function damagedUrl(error: unknown): string | null {
  return error instanceof Error && 'damagedUrl' in error ? String(error.damagedUrl) : null;
}

/** What an entry says of itself. */
export interface CacheEntry {
  readonly url: string;
  readonly validators: Validators;
  /** Bytes of data. */
  readonly size: number;
  /** CRC-32 of each block. */
  readonly blocks: readonly number[];
}

/** Writes an entry as its bytes come. */
export class EntryWriter {
  private readonly blocks: number[] = [];
  private size = 0;
  private crc = 0;

  constructor(private readonly writer: StoreWriter) {}

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) {
      const room = BLOCK_BYTES - (this.size % BLOCK_BYTES);
      const part = bytes.subarray(at, at + room);
      this.crc = crc32(part, this.crc);
      this.size += part.byteLength;
      at += part.byteLength;
      if (this.size % BLOCK_BYTES === 0) this.endBlock();
    }
    await this.writer.write(bytes);
  }

  private endBlock(): void {
    this.blocks.push(this.crc);
    this.crc = 0;
  }

  /** Makes the entry appear. */
  async commit(url: string, validators: Validators): Promise<void> {
    if (this.size % BLOCK_BYTES !== 0) this.endBlock();
    const entry: CacheEntry = { url, validators, size: this.size, blocks: this.blocks };
    const json = new TextEncoder().encode(JSON.stringify(entry));
    const end = new DataView(new ArrayBuffer(END_BYTES));
    end.setUint32(0, json.byteLength, true);
    end.setUint32(4, crc32(json), true);
    new TextEncoder().encodeInto(MAGIC, new Uint8Array(end.buffer, 8));
    await this.writer.write(json);
    await this.writer.write(new Uint8Array(end.buffer));
    await this.writer.commit();
  }

  discard(): Promise<void> {
    return this.writer.discard();
  }
}

/** The description of an entry, null if the file is no whole one. */
export async function readEntry(file: StoredFile): Promise<CacheEntry | null> {
  if (file.size < END_BYTES) return null;
  const end = await file.read(file.size - END_BYTES, file.size);
  if (end.byteLength < END_BYTES || new TextDecoder().decode(end.subarray(8)) !== MAGIC)
    return null;
  const view = new DataView(end.buffer, end.byteOffset);
  const size = file.size - END_BYTES - view.getUint32(0, true);
  if (size < 0) return null;
  const json = await file.read(size, file.size - END_BYTES);
  if (crc32(json) !== view.getUint32(4, true)) return null;
  const entry: CacheEntry = JSON.parse(new TextDecoder().decode(json));
  return entry.size === size ? entry : null;
}

/** The data of an entry as a file; every block is checked. */
export function openEntry(file: StoredFile, { url, size, blocks }: CacheEntry): ByteFile {
  const open = (begin: number, end: number = size): ByteReader => {
    let at = begin;
    return {
      async read() {
        if (at >= end) return null;
        const index = Math.floor(at / BLOCK_BYTES);
        const from = index * BLOCK_BYTES;
        const to = Math.min(from + BLOCK_BYTES, size);
        // What cannot be read (removed meanwhile) is as good as damaged.
        const block = await file.read(from, to).catch(() => null);
        if (block?.byteLength !== to - from || crc32(block) !== blocks[index]) throw damaged(url);
        const part = block.subarray(at - from, end - from);
        at = to;
        return part;
      },
      cancel: () => {
        at = end;
      },
    };
  };
  return {
    name: url,
    size,
    seekable: true,
    open: (begin, end) => Promise.resolve(open(begin, end)),
    close: () => file.close(),
  };
}
