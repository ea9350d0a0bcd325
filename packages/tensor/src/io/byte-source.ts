/**
 * @file Where bytes come from, opened: memory, Blobs, streams, answers, addresses, and files of this machine.
 *
 * A string without a scheme is a path where there is a file system, and elsewhere an address relative to the page or
 * worker, as `fetch` takes it.
 */
import { TesseraError } from '@tessera/shared';
import {
  type ByteFile,
  blobFile,
  memoryFile,
  readOnceFile,
  streamOf,
  streamReader,
} from './byte-file.js';
import { type HttpOptions, openHttp, openResponse } from './http-file.js';
import { openNodeFile } from './node-file.js';
import { nodeFs } from './node-fs.js';
import { unreadable } from './unreadable.js';

/**
 * Where to read from. A string is an address (`https://…`, `file://…`, `blob:…`), a path in Node, or an address
 * relative to the page or worker in browsers. Streams are those of the web, of Node, and any async iterable of bytes.
 */
export type ByteSource =
  | string
  | URL
  | Request
  | Response
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Blob
  | ArrayBuffer
  | ArrayBufferView;

/** A source whose strings are resolved: a string that is left is a path. */
export type ResolvedSource = ByteSource;

/** What `location` and `document` tell about where relative addresses start. */
interface Surroundings {
  readonly document?: { readonly baseURI: string };
  readonly location?: { readonly href: string; readonly origin: string };
}

// One letter and a colon are a drive of Windows.
const ADDRESS = /^[a-z][a-z0-9+.-]+:/i;

/** Turns strings that are addresses into URLs. @throws source-unreadable */
export function resolveSource(source: ByteSource): ResolvedSource {
  if (typeof source !== 'string') return source;
  try {
    if (ADDRESS.test(source)) return new URL(source);
    if (nodeFs() !== null) return source;
    const { document, location }: Surroundings = globalThis;
    const base = document?.baseURI ?? location?.href;
    // A worker made of a blob has no place of its own, but an origin.
    return new URL(
      source,
      base?.startsWith('blob:') === true && source.startsWith('/') ? location?.origin : base,
    );
  } catch (error) {
    unreadable(source, error, {}, 'Give a whole address here: new URL(path, address of the page).');
  }
}

/** The name that says what kind of file a source is: a path or address without query; '' if there is none. */
export function pathOf(source: ResolvedSource): string {
  if (typeof source === 'string') return source;
  if (source instanceof URL) return source.pathname;
  if (source instanceof Request) return new URL(source.url).pathname;
  if (source instanceof Response) return source.url === '' ? '' : new URL(source.url).pathname;
  return source instanceof Blob && 'name' in source ? String(source.name) : '';
}

/** The file of this name in the folder of a source; null if it is in none. */
export function beside(source: ResolvedSource, file: string): ResolvedSource | null {
  if (typeof source === 'string') return source.replace(/[^/\\]*$/, () => file);
  const name = encodeURIComponent(file);
  if (source instanceof URL) return new URL(name, source);
  if (source instanceof Request) return new Request(new URL(name, source.url), source);
  if (source instanceof Response && source.url !== '') return new URL(name, source.url);
  return null;
}

/** Opens a source. @throws source-unreadable if there is nothing to read; invalid-argument */
export async function openSource(source: ResolvedSource, options: HttpOptions): Promise<ByteFile> {
  if (typeof source === 'string') return openNodeFile(source);
  if (source instanceof URL)
    return source.protocol === 'file:' ? openNodeFile(source) : openHttp(source, options);
  if (source instanceof Request) return openHttp(source, options);
  if (source instanceof Response) return openResponse(source);
  if (source instanceof Blob) return blobFile(source);
  if (source instanceof ReadableStream) {
    if (source.locked)
      unreadable(
        'the given stream',
        'somebody else reads it',
        {},
        'Pass a stream that nobody reads.',
      );
    return readOnceFile(streamReader(source), 'the given stream', undefined);
  }
  if (source instanceof ArrayBuffer) return memoryFile(new Uint8Array(source), 'the given bytes');
  if (ArrayBuffer.isView(source)) {
    const { buffer, byteOffset, byteLength } = source;
    return memoryFile(new Uint8Array(buffer, byteOffset, byteLength), 'the given bytes');
  }
  if (Symbol.asyncIterator in Object(source))
    return readOnceFile(streamReader(streamOf(source)), 'the given stream', undefined);
  throw new TesseraError(
    'invalid-argument',
    `Cannot read from ${source === null ? 'null' : typeof source}.`,
    { hints: ['Pass a path, an address, a Request, a Response, a stream, a Blob or bytes.'] },
  );
}
