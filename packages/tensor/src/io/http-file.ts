/**
 * @file A file at an address: its whole body read once, or parts of it with range requests.
 *
 * Asked for parts, the first request wants the start only. A server that answers 206 is asked for more as it is
 * needed; one that answers 200 sends everything, which is then read once. All parts must belong to one version:
 * `If-Range` says which one is meant, and `ETag`, `Last-Modified` and `Content-Range` of every answer are compared.
 */
import { orAborted } from './abort.js';
import {
  type ByteFile,
  type ByteReader,
  bytesReader,
  joined,
  readOnceFile,
  streamReader,
} from './byte-file.js';
import type { CachedVersion, HttpCache } from './cache/http-cache.js';
import {
  type Validators,
  bodyLength,
  contentRange,
  isEncoded,
  otherVersion,
  sameVersion,
  validatorsOf,
} from './http-answer.js';
import { unreadable } from './unreadable.js';

/** How an address is read. */
export interface HttpOptions {
  readonly signal: AbortSignal | undefined;
  readonly requestInit: RequestInit | undefined;
  /** Only parts are wanted, if the server gives them. */
  readonly parts: boolean;
  readonly cache: HttpCache | null;
}

/** Asked for first: most headers of checkpoints fit. */
const START_BYTES = 65_536;

class HttpSource {
  readonly name: string;
  private readonly method: string;

  constructor(
    private readonly target: URL | Request,
    private readonly options: HttpOptions,
  ) {
    this.name = target instanceof URL ? target.href : target.url;
    const { requestInit } = options;
    this.method = requestInit?.method ?? (target instanceof URL ? 'GET' : target.method);
  }

  get signal(): AbortSignal | undefined {
    return this.options.signal;
  }

  /** Whether it may be asked several times, or not at all. */
  get repeatable(): boolean {
    return this.method.toUpperCase() === 'GET' && /^https?:/.test(this.name);
  }

  /** Sends the request with these headers besides its own. @throws source-unreadable */
  async send(extra: Readonly<Record<string, string>>): Promise<Response> {
    const { target, options, name } = this;
    const { requestInit, signal } = options;
    const own = requestInit?.headers ?? (target instanceof URL ? undefined : target.headers);
    const headers = new Headers(own);
    for (const [key, value] of Object.entries(extra)) headers.set(key, value);
    const once = target instanceof URL ? target : target.clone();
    try {
      return await orAborted(
        fetch(once, {
          // The browser need not keep a second copy.
          ...(this.options.cache !== null && { cache: 'no-store' }),
          ...requestInit,
          headers,
          ...(signal !== undefined && { signal }),
        }),
        signal,
      );
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      unreadable(
        name,
        error,
        {},
        'Check the address, the connection, and that the server allows this origin (CORS).',
      );
    }
  }

  /** A stream whose failures say what could not be read. */
  reader(body: ReadableStream<Uint8Array>): ByteReader {
    const reader = streamReader(body);
    return {
      read: () =>
        reader.read().catch((error: unknown) => {
          if (this.options.signal?.aborted === true) throw error;
          unreadable(this.name, error, {}, 'Check the connection and load again.');
        }),
      cancel: (reason) => reader.cancel(reason),
    };
  }
}

/** @throws source-unreadable for an answer that is no file */
function checkAnswer(response: Response, name: string): ReadableStream<Uint8Array> {
  const { status, statusText, body } = response;
  if (response.type === 'opaque')
    unreadable(
      name,
      "the answer is opaque: it was asked for with mode 'no-cors'",
      {},
      "Ask with mode 'cors'.",
    );
  if (!response.ok) {
    void body?.cancel().catch(() => {});
    unreadable(name, `${status} ${statusText}`.trimEnd(), { status });
  }
  if (body === null) unreadable(name, 'the answer has no body', { status });
  if (response.bodyUsed || body.locked)
    unreadable(
      name,
      'the body of the answer was read already',
      {},
      'Pass response.clone(), or fetch again.',
    );
  return body;
}

/** The body of an answer that somebody has got. @throws source-unreadable */
export function openResponse(response: Response): ByteFile {
  const name = response.url === '' ? 'the given Response' : response.url;
  return readOnceFile(streamReader(checkAnswer(response, name)), name, bodyLength(response));
}

/** Opens an address. @throws source-unreadable */
export async function openHttp(target: URL | Request, options: HttpOptions): Promise<ByteFile> {
  const source = new HttpSource(target, options);
  const { name, repeatable } = source;
  const cache = repeatable ? options.cache : null;
  const cached = (await cache?.find(name)) ?? null;
  const conditions = cached?.conditions() ?? {};
  const parts = options.parts && repeatable;
  let response: Response;
  try {
    response = await firstAnswer(source, parts, conditions);
  } catch (error) {
    // Without a connection what was kept has to do.
    if (cached !== null && options.signal?.aborted !== true) return cached.open();
    await cached?.close();
    throw error;
  }
  return (await openCached(response, cached)) ?? openAnswer(source, response, parts, cache);
}

/** The answer to the first request: of a part, if parts are wanted and can be had. @throws source-unreadable */
async function firstAnswer(
  source: HttpSource,
  parts: boolean,
  conditions: Readonly<Record<string, string>>,
): Promise<Response> {
  if (!parts) return source.send(conditions);
  try {
    const response = await source.send({ range: `bytes=0-${START_BYTES - 1}`, ...conditions });
    // An encoded part is no part of the file; an empty file has none.
    const useless = response.status === 416 || (response.status === 206 && isEncoded(response));
    if (!useless) return response;
    void response.body?.cancel().catch(() => {});
  } catch (error) {
    // A browser may need the server's permission for the header, or trip over what its own cache has.
    if (source.signal?.aborted === true) throw error;
  }
  return source.send(conditions);
}

/** The version kept, if the answer says that it is the present one. */
async function openCached(
  response: Response,
  cached: CachedVersion | null,
): Promise<ByteFile | null> {
  if (cached === null) return null;
  const same =
    response.status === 304 ||
    (response.ok && sameVersion(cached.validators, validatorsOf(response)));
  if (!same) {
    await cached.close();
    return null;
  }
  void response.body?.cancel().catch(() => {});
  return cached.open();
}

async function openAnswer(
  source: HttpSource,
  response: Response,
  parts: boolean,
  cache: HttpCache | null,
): Promise<ByteFile> {
  const { name } = source;
  const body = checkAnswer(response, name);
  if (parts && response.status === 206) return openParts(source, response);
  const whole = readOnceFile(source.reader(body), name, bodyLength(response));
  return cache === null ? whole : cache.keeping(whole, name, validatorsOf(response));
}

/** The body of the first answer. @throws source-unreadable */
async function readStart(source: HttpSource, response: Response): Promise<Uint8Array> {
  const range = contentRange(response);
  if (range !== null && range.begin !== 0)
    unreadable(source.name, `asked for its start, got what begins at byte ${range.begin}`);
  const reader = exactly(source, response.body!, range?.end);
  const parts: Uint8Array[] = [];
  for (;;) {
    const part = await orAborted(reader.read(), source.signal);
    if (part === null) return joined(parts);
    parts.push(part);
  }
}

/** A file whose start has come, and whose other parts can be asked for. @throws source-unreadable */
async function openParts(source: HttpSource, first: Response): Promise<ByteFile> {
  const { name } = source;
  const version = validatorsOf(first);
  const size = contentRange(first)?.total;
  const start = await readStart(source, first);
  const total = size ?? (start.byteLength < START_BYTES ? start.byteLength : undefined);
  return {
    name,
    size: total,
    seekable: true,
    async open(begin, end = total) {
      const known = start.subarray(begin, end);
      const from = begin + known.byteLength;
      if (end !== undefined && from >= end) return bytesReader(known);
      const rest = await requestPart(source, from, end, version, first.type !== 'cors');
      return chained(known, rest);
    },
    close: () => Promise.resolve(),
  };
}

function chained(first: Uint8Array, rest: ByteReader): ByteReader {
  const start = bytesReader(first);
  return {
    read: async () => (await start.read()) ?? rest.read(),
    cancel: (reason) => rest.cancel(reason),
  };
}

/** Asks for bytes from `begin` up to `end` of one version. @throws source-unreadable */
async function requestPart(
  source: HttpSource,
  begin: number,
  end: number | undefined,
  version: Validators,
  sameOrigin: boolean,
): Promise<ByteReader> {
  const { etag } = version;
  // Another origin would have to allow the header, and a weak tag does not vouch for every byte.
  const strong = sameOrigin && etag !== null && !etag.startsWith('W/');
  const response = await source.send({
    range: `bytes=${begin}-${end === undefined ? '' : end - 1}`,
    ...(strong && { 'if-range': etag }),
  });
  // The start was all there is.
  if (response.status === 416 && end === undefined) return bytesReader(new Uint8Array(0));
  const body = checkAnswer(response, source.name);
  const cancelled = (why: string): never => {
    void body.cancel().catch(() => {});
    return unreadable(source.name, why, {}, 'Load it again.');
  };
  if (otherVersion(version, validatorsOf(response))) cancelled('it changed while it was read');
  if (response.status !== 206)
    cancelled(`the server answered ${response.status} to a request for a part`);
  const range = contentRange(response);
  if (range !== null && (range.begin !== begin || (end !== undefined && range.end !== end)))
    cancelled(`asked for bytes ${begin} to ${end}, got ${range.begin} to ${range.end}`);
  if (isEncoded(response)) cancelled('a part of it came compressed');
  return exactly(source, body, end === undefined ? undefined : end - begin);
}

/** A reader that refuses a body of another length than `count`. */
function exactly(
  source: HttpSource,
  body: ReadableStream<Uint8Array>,
  count: number | undefined,
): ByteReader {
  const reader = source.reader(body);
  if (count === undefined) return reader;
  let left = count;
  return {
    async read() {
      const chunk = await reader.read();
      left -= chunk?.byteLength ?? 0;
      if (left < 0 || (chunk === null && left > 0)) {
        reader.cancel();
        unreadable(
          source.name,
          `a part of it came with ${count - left} bytes in place of ${count}`,
        );
      }
      return chunk;
    },
    cancel: (reason) => reader.cancel(reason),
  };
}
