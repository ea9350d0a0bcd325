/**
 * @file The header of a safetensors file, checked.
 *
 * Layout: 8 bytes little-endian header length, JSON header, tensor bytes. Everything is checked before
 * any tensor is made, so a malformed or hostile file loads nothing.
 *
 * @see https://github.com/huggingface/safetensors
 */
import { TesseraError, messageOf } from '@tessera/shared';
import { isCount, numelOf } from '../shape.js';
import type { StoredType } from './stored-type.js';

/** Largest header accepted, as the reference implementation limits it: 100 MB. */
const MAX_HEADER_BYTES = 100_000_000;

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

/** Length of the JSON header from the first 8 bytes. @throws safetensors-invalid */
export function headerLength(prefix: Uint8Array): number {
  if (prefix.byteLength < 8)
    invalidFile(`it has ${prefix.byteLength} bytes, too few for the header's length`);
  const length = new DataView(prefix.buffer, prefix.byteOffset, 8).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES))
    invalidFile(`its header claims ${length} bytes; at most ${MAX_HEADER_BYTES} are allowed`);
  return Number(length);
}

/**
 * Parses and checks a header. `dataBytes` is the size of the data section, null if unknown; `typeOf` knows the element
 * types that can be loaded.
 *
 * @throws safetensors-invalid
 */
export function parseHeader(
  json: Uint8Array,
  dataBytes: number | null,
  typeOf: (code: string) => StoredType | null,
): SafetensorsHeader {
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(json));
  } catch (error) {
    invalidFile(`its header is not JSON (${messageOf(error)})`);
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    invalidFile('its header is not an object');
  const entries: SafetensorsEntry[] = [];
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '__proto__') invalidFile(`a tensor cannot be named '${name}'`);
    if (name === '__metadata__') metadata = parseMetadata(value);
    else entries.push(parseEntry(name, value, dataBytes, typeOf));
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

function parseEntry(
  name: string,
  value: unknown,
  dataBytes: number | null,
  typeOf: (code: string) => StoredType | null,
): SafetensorsEntry {
  const {
    dtype: code,
    shape,
    data_offsets: offsets,
  }: { dtype?: unknown; shape?: unknown; data_offsets?: unknown } = value ?? {};
  if (typeof code !== 'string') invalidFile(`tensor '${name}' has dtype ${JSON.stringify(code)}`);
  const stored = typeOf(code);
  if (!Array.isArray(shape) || !shape.every(isCount))
    invalidFile(`tensor '${name}' has no valid shape`);
  const sizes = shape;
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount)) {
    invalidFile(`tensor '${name}' has no valid data_offsets`);
  }
  const [begin, end] = offsets;
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
