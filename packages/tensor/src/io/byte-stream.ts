/**
 * @file Where bytes come from: memory, a Blob, an address, or a file; always read in order, once.
 */
import { TesseraError } from '@tessera/shared';
import { nodeFs } from './node-fs.js';

/** Where to read from. A string is an address (`https://…`, `file://…`, `blob:…`) or, in Node, a path. */
export type ByteSource = Uint8Array | ArrayBuffer | Blob | URL | string;

/** An opened source. */
export interface ByteStream {
  /** Name for messages. */
  readonly name: string;
  /** Number of bytes, if it is known beforehand. */
  readonly size: number | null;
  chunks(): AsyncIterable<Uint8Array>;
}

/** @throws safetensors-invalid */
function unreadable(name: string, why: string): never {
  throw new TesseraError('safetensors-invalid', `Could not read ${name}: ${why}.`, {
    hints: ['Check the address or path.'],
  });
}

async function* whole(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

async function* drain(stream: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Whoever stops early does not want the rest of the download.
    await reader.cancel().catch(() => {});
  }
}

const ADDRESS = /^[a-z][a-z0-9+.-]+:/i;

/** Whether a source is a file of this machine: a `file:` URL, or a string that is no address. */
export function isFilePath(source: ByteSource): source is URL | string {
  if (source instanceof URL) return source.protocol === 'file:';
  return typeof source === 'string' && (!ADDRESS.test(source) || source.startsWith('file:'));
}

/** Opens a source. @throws safetensors-invalid if there is nothing to read */
export async function openBytes(source: ByteSource): Promise<ByteStream> {
  if (source instanceof ArrayBuffer) return openBytes(new Uint8Array(source));
  if (source instanceof Uint8Array)
    return { name: 'the given bytes', size: source.byteLength, chunks: () => whole(source) };
  if (source instanceof Blob) {
    const name = 'name' in source ? String(source.name) : 'the given Blob';
    return { name, size: source.size, chunks: () => drain(source.stream()) };
  }
  return isFilePath(source) ? openFile(source) : openAddress(source);
}

async function openFile(path: URL | string): Promise<ByteStream> {
  const name = String(path);
  const fs = nodeFs();
  if (fs === null) unreadable(name, 'there is no file system here; give a URL, a File or bytes');
  const where = name.startsWith('file:') ? new URL(name) : path;
  try {
    const { size } = await fs.promises.stat(where);
    return { name, size, chunks: () => fs.createReadStream(where, { highWaterMark: 1 << 20 }) };
  } catch (error) {
    unreadable(name, (error as Error).message);
  }
}

async function openAddress(address: URL | string): Promise<ByteStream> {
  const name = String(address);
  let response: Response;
  try {
    response = await fetch(address);
  } catch (error) {
    unreadable(name, (error as Error).message);
  }
  const { body } = response;
  if (!response.ok || body === null) unreadable(name, `${response.status} ${response.statusText}`);
  // The length of a compressed answer is not that of what is read.
  const encoded = response.headers.get('content-encoding') !== null;
  const length = encoded ? null : response.headers.get('content-length');
  return { name, size: length === null ? null : Number(length), chunks: () => drain(body) };
}

/** All bytes of a source. @throws safetensors-invalid */
export async function readAll(source: ByteSource): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  const stream = await openBytes(source);
  const parts: Uint8Array[] = [];
  for await (const chunk of stream.chunks()) parts.push(chunk);
  const out = new Uint8Array(parts.reduce((total, part) => total + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.byteLength;
  }
  return out;
}
