/**
 * @file A web server for loading tests: byte ranges, entity tags, compression, answers that stall or are cut off.
 */
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A file that is served, and how. */
export interface ServedFile {
  bytes: Uint8Array;
  etag?: string;
  lastModified?: string;
  /** Answers range requests. */
  ranges?: boolean;
  /** Compresses whole answers. */
  gzip?: boolean;
  /** Sends no Content-Length. */
  chunked?: boolean;
  /** Stops after so many bytes of each answer, and keeps the connection. */
  stallAt?: number;
  /** Ends the connection after so many bytes of each answer. */
  cutAt?: number;
  /** Other headers, say those of CORS. */
  headers?: Record<string, string>;
}

/** A request that came. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Whether whoever asked hung up before all was sent. */
  abandoned: boolean;
  /** Status of the answer. */
  status: number;
}

/** A running server; files may be changed while it runs. */
export interface FileServer extends AsyncDisposable {
  readonly url: string;
  readonly files: Map<string, ServedFile>;
  readonly seen: SeenRequest[];
  /** Called before each answer. */
  before?: (request: SeenRequest) => void;
}

/** Which part is asked for, null for all; a `bytes=-n` that asks for the end too. */
function requestedRange(header: string | undefined, size: number): [number, number] | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null) return null;
  if (match[1] === '') return [Math.max(0, size - Number(match[2])), size];
  return [Number(match[1]), match[2] === '' ? size : Math.min(size, Number(match[2]) + 1)];
}

function answer(file: ServedFile, request: SeenRequest, response: ServerResponse): void {
  const { headers } = request;
  if (file.etag !== undefined) response.setHeader('etag', file.etag);
  if (file.lastModified !== undefined) response.setHeader('last-modified', file.lastModified);
  const send = (status: number, body: Uint8Array): void => {
    request.status = status;
    response.statusCode = status;
    for (const [name, value] of Object.entries(file.headers ?? {})) response.setHeader(name, value);
    if (file.chunked !== true) response.setHeader('content-length', body.byteLength);
    const stop = file.stallAt ?? file.cutAt ?? Infinity;
    if (stop >= body.byteLength) response.end(body);
    else {
      response.write(body.subarray(0, stop));
      if (file.cutAt !== undefined) setTimeout(() => response.destroy(), 20);
    }
  };
  if (request.method === 'OPTIONS') return send(204, new Uint8Array(0));
  if (file.etag !== undefined && headers['if-none-match'] === file.etag)
    return send(304, new Uint8Array(0));
  const fresh = headers['if-range'] === undefined || headers['if-range'] === file.etag;
  const range = fresh && file.ranges ? requestedRange(headers.range, file.bytes.length) : null;
  if (range !== null) {
    if (range[0] >= file.bytes.length) return send(416, new Uint8Array(0));
    response.setHeader('content-range', `bytes ${range[0]}-${range[1] - 1}/${file.bytes.length}`);
    return send(206, file.bytes.subarray(...range));
  }
  if (file.gzip !== true) return send(200, file.bytes);
  response.setHeader('content-encoding', 'gzip');
  return send(200, gzipSync(file.bytes));
}

/** Serves files by path until disposed. */
export async function serveFiles(
  files: Readonly<Record<string, ServedFile>> = {},
): Promise<FileServer> {
  const server = createServer((incoming, response) => {
    const { method = '', headers } = incoming;
    const path = new URL(incoming.url!, 'http://here').pathname;
    const request: SeenRequest = { method, path, headers, abandoned: false, status: 404 };
    result.seen.push(request);
    response.on('close', () => (request.abandoned = !response.writableFinished));
    result.before?.(request);
    const file = result.files.get(path);
    if (file === undefined) response.writeHead(404).end();
    else answer(file, request, response);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const result: FileServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files: new Map(Object.entries(files)),
    seen: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return result;
}
