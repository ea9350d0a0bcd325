/**
 * @file A file of `torch.save` opened: its records, and what its pickle says lies in them.
 *
 * A zip file is read from its end, so it must be seekable: a file, a Blob, bytes, or an address whose server answers
 * range requests. From anything else it is taken into memory first.
 */
import { type ByteFile, joined, memoryFile } from '../byte-file.js';
import { crc32 } from '../crc32.js';
import { Cursor } from '../cursor.js';
import type { LoadProgress } from '../loading.js';
import { invalidTorch } from './invalid-torch.js';
import {
  RECORD_HEADER_BYTES,
  type ReadAt,
  type ZipEntry,
  readZipDirectory,
  recordGap,
} from './zip-directory.js';

/** See the file header. */
export interface TorchArchive {
  /** What it is read from. Whoever opened the archive closes it, or the source if opening failed. */
  readonly file: ByteFile;
  /** Whether the source was read whole. */
  readonly inMemory: boolean;
  /** Bytes of `data.pkl`. */
  readonly pickle: Uint8Array;
  /** The record of a storage. @throws torch-checkpoint-invalid */
  storageRecord(key: string): ZipEntry;
}

/** Metadata is small: a pickle of a large model has some megabytes. */
const MAX_PICKLE_BYTES = 268_435_456;

/** @throws torch-checkpoint-invalid */
export function endsEarly(position: number, missing: number): never {
  invalidTorch(`it ends after ${position} bytes, ${missing} too early`);
}

/** The contents of a file that cannot be read anywhere, in memory. */
async function intoMemory(
  file: ByteFile,
  signal: AbortSignal | undefined,
  onProgress: ((progress: LoadProgress) => void) | undefined,
): Promise<ByteFile> {
  const { name, size } = file;
  const cursor = new Cursor(file, {
    signal,
    ended: endsEarly,
    onBytes: (loaded) => onProgress?.({ file: name, loaded, total: size }),
  });
  const bytes = await cursor.rest();
  return { ...memoryFile(bytes, name), close: (good) => cursor.close(good) };
}

async function readBytes(
  file: ByteFile,
  begin: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const cursor = new Cursor(
    { ...file, close: () => Promise.resolve() },
    { signal, ended: endsEarly },
  );
  cursor.plan([{ begin, end }]);
  await cursor.skipTo(begin);
  const parts: Uint8Array[] = [];
  await cursor.each(end - begin, (piece) => parts.push(piece));
  await cursor.close(true);
  return joined(parts);
}

/** What a file that is no zip file is, by its first bytes. */
function checkStart(start: Uint8Array): void {
  const text = String.fromCharCode(...start);
  if (text.startsWith('PK')) return;
  if (text.startsWith('\x80'))
    invalidTorch(
      'it was written in the format from before PyTorch 1.6',
      'Load it in PyTorch and torch.save its state_dict() again.',
    );
  if (text.endsWith('{'))
    invalidTorch('it looks like a safetensors file', 'Load it with loadCheckpoint().');
  if (text.startsWith('<'))
    invalidTorch(
      'it looks like an HTML page',
      'Check the address: an error page may have come instead.',
    );
  invalidTorch('it is no zip file');
}

async function readRecord(entry: ZipEntry, readAt: ReadAt): Promise<Uint8Array> {
  const header = await readAt(entry.begin, entry.begin + RECORD_HEADER_BYTES);
  const from = entry.begin + RECORD_HEADER_BYTES + recordGap(header, entry);
  const bytes = await readAt(from, from + entry.size);
  checkSum(entry, crc32(bytes));
  return bytes;
}

/** @throws torch-checkpoint-invalid */
export function checkSum({ name, crc }: ZipEntry, found: number): void {
  // PyTorch can be told not to compute them (torch.serialization.set_crc32_options).
  if (crc !== 0 && crc !== found) invalidTorch(`its record '${name}' is damaged`);
}

/** Opens an archive. @throws torch-checkpoint-invalid */
export async function openTorchArchive(
  source: ByteFile,
  signal: AbortSignal | undefined,
  onProgress: ((progress: LoadProgress) => void) | undefined,
): Promise<TorchArchive> {
  const inMemory = !source.seekable || source.size === undefined;
  const file = inMemory ? await intoMemory(source, signal, onProgress) : source;
  const size = file.size!;
  const readAt: ReadAt = (begin, end) => readBytes(file, begin, end, signal);
  checkStart(await readAt(0, Math.min(9, size)));
  const entries = await readZipDirectory(size, readAt);
  const pickles = [...entries.values()].filter(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
  const [pickle] = pickles;
  if (pickle === undefined || pickles.length > 1)
    invalidTorch('it has no data.pkl', 'Write it with torch.save.');
  if (pickle.size > MAX_PICKLE_BYTES) invalidTorch(`its pickle has ${pickle.size} bytes`);
  const folder = pickle.name.slice(0, -'data.pkl'.length);
  const order = entries.get(`${folder}byteorder`);
  if (order !== undefined && order.size < 16) {
    const text = new TextDecoder().decode(await readRecord(order, readAt));
    if (text.trim() !== 'little') invalidTorch(`its numbers have the byte order '${text}'`);
  }
  return {
    file,
    inMemory,
    pickle: await readRecord(pickle, readAt),
    storageRecord: (key) =>
      entries.get(`${folder}data/${key}`) ?? invalidTorch(`it has no storage '${key}'`),
  };
}
