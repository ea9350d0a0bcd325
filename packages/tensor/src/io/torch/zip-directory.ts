/**
 * @file The directory of a zip file: which records lie where. Every number in it is checked before it is used.
 *
 * PyTorch writes records as they are ("stored"), with their sizes behind them (data descriptors) and a directory in
 * the 64-bit form besides the classic one; so the directory at the end of the file is what is believed. Records may
 * not overlap.
 *
 * @see https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT sections 4.3.7 to 4.3.16
 */
import { invalidTorch } from './invalid-torch.js';

/** A record of the archive. */
export interface ZipEntry {
  readonly name: string;
  /** CRC-32 of the contents; PyTorch can be told to write 0 in its place. */
  readonly crc: number;
  /** Bytes of the contents, as they are stored. */
  readonly size: number;
  /** Where the record's own header starts. */
  readonly begin: number;
  /** Where the next record starts, or the directory. */
  readonly end: number;
  /** Whether it can be read: neither compressed nor encrypted. */
  readonly plain: boolean;
}

/** Reads bytes from `begin` up to `end`, all of them. */
export type ReadAt = (begin: number, end: number) => Promise<Uint8Array>;

const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const LOCATOR_BYTES = 20;
const END64_BYTES = 56;
const ENTRY_BYTES = 46;
/** Bytes of a record's header before its name. */
export const RECORD_HEADER_BYTES = 30;
/** No archive of tensors comes near. */
const MAX_DIRECTORY_BYTES = 67_108_864;

const SIGNATURE = { record: 0x04034b50, entry: 0x02014b50, end: 0x06054b50, locator: 0x07064b50, end64: 0x06064b50 }; // prettier-ignore

/** Little-endian numbers in bytes. */
class Fields {
  private readonly view: DataView;

  constructor(readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  u16(at: number): number {
    return this.view.getUint16(at, true);
  }

  u32(at: number): number {
    return this.view.getUint32(at, true);
  }

  /** @throws torch-checkpoint-invalid beyond 2⁵³ */
  u64(at: number): number {
    const value = this.view.getBigUint64(at, true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER))
      invalidTorch(`it claims a place at ${value} bytes`);
    return Number(value);
  }
}

interface Directory {
  readonly begin: number;
  readonly bytes: number;
  readonly count: number;
}

/** Where the end record is in the last bytes of the file. */
function findEnd(tail: Fields): number {
  const { length } = tail.bytes;
  for (let at = length - END_BYTES; at >= 0; at--)
    if (tail.u32(at) === SIGNATURE.end && at + END_BYTES + tail.u16(at + 20) === length) return at;
  return invalidTorch('it has no zip directory, as if its end were missing');
}

async function findDirectory(size: number, readAt: ReadAt): Promise<Directory & { limit: number }> {
  const tailStart = Math.max(0, size - END_BYTES - MAX_COMMENT_BYTES - LOCATOR_BYTES - END64_BYTES);
  const tail = new Fields(await readAt(tailStart, size));
  const at = findEnd(tail);
  const locator = at - LOCATOR_BYTES;
  if (locator < 0 || tail.u32(locator) !== SIGNATURE.locator) {
    const limit = tailStart + at;
    return { begin: tail.u32(at + 16), bytes: tail.u32(at + 12), count: tail.u16(at + 10), limit };
  }
  const end64 = tail.u64(locator + 8);
  if (end64 + END64_BYTES > tailStart + locator)
    invalidTorch('its zip directory lies outside of it');
  const record = new Fields(await readAt(end64, end64 + END64_BYTES));
  if (record.u32(0) !== SIGNATURE.end64)
    invalidTorch('its 64-bit zip directory is not where it should be');
  return { begin: record.u64(48), bytes: record.u64(40), count: record.u64(32), limit: end64 };
}

/** Sizes and place of an entry; those that do not fit 32 bits are in an extra field. */
function wideFields(entry: Fields, at: number, extra: number, extraEnd: number): number[] {
  // Contents, stored contents, place.
  const fields = [entry.u32(at + 24), entry.u32(at + 20), entry.u32(at + 42)];
  for (let field = extra; field + 4 <= extraEnd; field += 4 + entry.u16(field + 2)) {
    if (entry.u16(field) !== 1) continue;
    const end = Math.min(field + 4 + entry.u16(field + 2), extraEnd);
    let value = field + 4;
    return fields.map((narrow) => {
      if (narrow !== 0xffffffff) return narrow;
      if (value + 8 > end) invalidTorch('a 64-bit size is missing in its zip directory');
      value += 8;
      return entry.u64(value - 8);
    });
  }
  return fields;
}

/**
 * The records of an archive of `size` bytes, by name, in the order of their places.
 *
 * @throws torch-checkpoint-invalid
 */
export async function readZipDirectory(
  size: number,
  readAt: ReadAt,
): Promise<Map<string, ZipEntry>> {
  const { begin, bytes, count, limit } = await findDirectory(size, readAt);
  if (bytes > MAX_DIRECTORY_BYTES || count * ENTRY_BYTES > bytes || begin + bytes > limit)
    invalidTorch('its zip directory lies outside of it');
  const fields = new Fields(await readAt(begin, begin + bytes));
  const found: Omit<ZipEntry, 'end'>[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + ENTRY_BYTES > bytes || fields.u32(at) !== SIGNATURE.entry)
      invalidTorch(`record ${i} of its zip directory is damaged`);
    const nameEnd = at + ENTRY_BYTES + fields.u16(at + 28);
    const extraEnd = nameEnd + fields.u16(at + 30);
    const next = extraEnd + fields.u16(at + 32);
    if (next > bytes) invalidTorch(`record ${i} of its zip directory is cut off`);
    const name = new TextDecoder().decode(fields.bytes.subarray(at + ENTRY_BYTES, nameEnd));
    const [contents, stored, place] = wideFields(fields, at, nameEnd, extraEnd);
    const plain =
      (fields.u16(at + 8) & 1) === 0 && fields.u16(at + 10) === 0 && contents === stored;
    found.push({ name, crc: fields.u32(at + 16), size: stored, begin: place, plain });
    at = next;
  }
  return inPlace(found, begin);
}

/** Adds where each record ends at the latest. @throws torch-checkpoint-invalid for records that overlap */
function inPlace(found: readonly Omit<ZipEntry, 'end'>[], limit: number): Map<string, ZipEntry> {
  const sorted = [...found].sort((a, b) => a.begin - b.begin);
  const entries = new Map<string, ZipEntry>();
  for (const [i, entry] of sorted.entries()) {
    const end = sorted[i + 1]?.begin ?? limit;
    if (entry.begin + RECORD_HEADER_BYTES + entry.size > end)
      invalidTorch(`its record '${entry.name}' overlaps what follows`);
    if (entries.has(entry.name)) invalidTorch(`it has two records '${entry.name}'`);
    entries.set(entry.name, { ...entry, end });
  }
  return entries;
}

/** Bytes between a record's header and its contents. @throws torch-checkpoint-invalid */
export function recordGap(header: Uint8Array, { name, begin, end, size, plain }: ZipEntry): number {
  const fields = new Fields(header);
  if (!plain)
    invalidTorch(`its record '${name}' is compressed or encrypted`, 'Write it with torch.save, which stores records as they are.'); // prettier-ignore
  if (fields.u32(0) !== SIGNATURE.record)
    invalidTorch(`its record '${name}' is not where it should be`);
  const gap = fields.u16(26) + fields.u16(28);
  if (begin + RECORD_HEADER_BYTES + gap + size > end)
    invalidTorch(`its record '${name}' overlaps what follows`);
  return gap;
}
