/**
 * @file The header of a safetensors file, checked.
 *
 * Layout: 8 bytes little-endian header length, JSON header, tensor bytes. Everything is checked before
 * any tensor is made, so a malformed or hostile file loads nothing.
 *
 * @see https://github.com/huggingface/safetensors
 */
import { TesseraError } from '@tessera/shared';
import { numelOf } from '../shape.js';
import { type StoredType, storedType } from './stored-type.js';

/** Largest header accepted, as the reference implementation limits it: 100 MB. */
const MAX_HEADER_BYTES = 100_000_000;

const ZIP_START = [0x50, 0x4b, 3, 4];
/** A pickle of a number of ten bytes, which is torch.serialization.MAGIC_NUMBER. */
const OLD_TORCH_START = [0x80, 2, 0x8a, 10, 0x6c, 0xfc, 0x9c, 0x46];
/** `GGUF` and `version `, the start of LFS pointers. */
const GGUF_START = [0x47, 0x47, 0x55, 0x46];
const LFS_START = [0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x20];

/** One tensor of a file; `begin` and `end` are byte offsets from the start of the data section. */
export interface SafetensorsEntry {
  readonly name: string;
  /** The file's name of the element type. */
  readonly code: string;
  /** Null for a type that cannot be loaded. */
  readonly stored: StoredType | null;
  readonly sizes: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** A checked header. */
export interface SafetensorsHeader {
  readonly entries: readonly SafetensorsEntry[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Byte offset of the data section. */
  readonly dataStart: number;
}

/** Throws a `safetensors-invalid` error. */
export function invalidFile(
  why: string,
  hint = 'Check that the file was downloaded completely and is a .safetensors file.',
): never {
  throw new TesseraError('safetensors-invalid', `Not a valid safetensors file: ${why}.`, {
    hints: [hint],
  });
}

/** What else a file is that starts like this, and what to do with it; null if nothing that is known. */
function otherFormat(start: Uint8Array): [why: string, hint: string] | null {
  const starts = (...bytes: readonly number[]): boolean =>
    bytes.every((byte, i) => start[i] === byte);
  // As lengths of headers all of these are beyond the limit, so no safetensors file starts like them.
  if (starts(...ZIP_START))
    return ['it is a zip file, as torch.save writes them', 'Load it with loadTorchCheckpoint().'];
  if (starts(...OLD_TORCH_START))
    return [
      'it was written by torch.save in the format from before PyTorch 1.6',
      'Load it in PyTorch and save its state_dict() again.',
    ];
  if (starts(...GGUF_START)) return ['it is a GGUF file', 'Load a .safetensors file of the model.'];
  if (start[0] === 0x3c)
    return [
      'it looks like an HTML page',
      'Check the address: an error page may have come instead.',
    ];
  if (starts(...LFS_START))
    return ['it is a pointer of Git LFS', 'Fetch the file itself: git lfs pull.'];
  return null;
}

/** Length of the JSON header from the first 8 bytes. @throws safetensors-invalid */
export function headerLength(prefix: Uint8Array): number {
  if (prefix.byteLength < 8)
    invalidFile(`it has ${prefix.byteLength} bytes, too few for the header's length`);
  const other = otherFormat(prefix);
  if (other !== null) invalidFile(...other);
  const length = new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES))
    invalidFile(`its header claims ${length} bytes; at most ${MAX_HEADER_BYTES} are allowed`);
  return Number(length);
}

/** Parses and checks a header. `dataBytes` is the size of the data section, null if unknown. @throws safetensors-invalid */
export function parseHeader(json: Uint8Array, dataBytes: number | null): SafetensorsHeader {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    invalidFile(`its header is not JSON (${(error as Error).message})`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    invalidFile('its header is not an object');
  const entries: SafetensorsEntry[] = [];
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '__proto__') invalidFile(`a tensor cannot be named '${name}'`);
    if (name === '__metadata__') metadata = parseMetadata(value);
    else entries.push(parseEntry(name, value, dataBytes));
  }
  checkOverlap(entries, dataBytes);
  return { entries, metadata, dataStart: 8 + json.byteLength };
}

function parseMetadata(value: unknown): Record<string, string> {
  if (
    typeof value !== 'object' ||
    value === null ||
    Object.values(value).some((item) => typeof item !== 'string')
  ) {
    invalidFile('its __metadata__ is not a record of strings');
  }
  return value as Record<string, string>;
}

function parseEntry(name: string, value: unknown, dataBytes: number | null): SafetensorsEntry {
  const {
    dtype: code,
    shape,
    data_offsets: offsets,
  } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  if (typeof code !== 'string') invalidFile(`tensor '${name}' has dtype ${JSON.stringify(code)}`);
  const stored = storedType(code);
  if (
    !Array.isArray(shape) ||
    !shape.every((size) => Number.isSafeInteger(size) && (size as number) >= 0)
  )
    invalidFile(`tensor '${name}' has no valid shape`);
  const sizes = shape as number[];
  if (
    !Array.isArray(offsets) ||
    offsets.length !== 2 ||
    !offsets.every((offset) => Number.isSafeInteger(offset) && (offset as number) >= 0)
  ) {
    invalidFile(`tensor '${name}' has no valid data_offsets`);
  }
  const [begin, end] = offsets as [number, number];
  if (begin > end || end > (dataBytes ?? Infinity)) {
    invalidFile(
      `tensor '${name}' lies at bytes ${begin} to ${end}, but there are ${dataBytes ?? 'unknown'}`,
    );
  }
  const wanted = stored === null ? null : numelOf(sizes) * stored.itemSize;
  if (wanted !== null && wanted !== end - begin)
    invalidFile(
      `tensor '${name}' of shape [${sizes.join(', ')}] and ${code} needs ${wanted} bytes, but has ${end - begin}`,
    );
  return { name, code, stored, sizes, begin, end };
}

/** Tensors must cover the data section without overlaps or holes. */
function checkOverlap(entries: readonly SafetensorsEntry[], dataBytes: number | null): void {
  let at = 0;
  for (const entry of [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (entry.begin < at) invalidFile(`tensor '${entry.name}' overlaps another one`);
    if (entry.begin > at) invalidFile(`bytes ${at} to ${entry.begin} belong to no tensor`);
    at = entry.end;
  }
  if (dataBytes !== null && at !== dataBytes)
    invalidFile(`bytes ${at} to ${dataBytes} belong to no tensor (or the file is truncated)`);
}
