/**
 * @file Serves a debug folder and the page that shows it, to this machine only. Addresses choose among what was found when
 * it started; none of them becomes a path.
 */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TesseraError } from '@tessera/shared';
import type { DebugFolder } from './debug-folder.js';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HEADERS = {
  // The editor makes styles; nothing else comes from the page itself.
  'Content-Security-Policy': "default-src 'self'; style-src 'self' 'unsafe-inline'",
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
} as const;

/** Options of `serveDebugFolder`. */
export interface ServeOptions {
  /** Port; one that is free by default. */
  readonly port?: number;
  /** Folder of the built page; the one that comes with this package by default. */
  readonly page?: string;
}

/** A running server. */
export interface ExplorerServer extends AsyncDisposable {
  /** Where the page is. */
  readonly url: string;
}

/** An answer: its type by the ending of a name, and what it is. */
interface Answer {
  readonly status: number;
  readonly ending: string;
  readonly body: Uint8Array | string;
}

/** Files of the built page by address. @throws invalid-argument */
function pageFiles(folder: string): ReadonlyMap<string, Answer> {
  let names: string[];
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch (cause) {
    throw new TesseraError('invalid-argument', `The explorer is not in ${folder}.`, {
      hints: ['In a checkout of Tessera: pnpm build --filter=@tessera/cli.'],
      cause,
    });
  }
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(
    files.map((name) => {
      const address = `/${name.replaceAll(sep, '/')}`;
      const body = readFileSync(join(folder, name));
      return [
        address === '/index.html' ? '/' : address,
        { status: 200, ending: extname(name), body },
      ];
    }),
  );
}

function answerFor(
  address: string,
  files: ReadonlyMap<string, Answer>,
  { name, compilations }: DebugFolder,
): Answer {
  const file = files.get(address);
  if (file !== undefined) return file;
  if (address === '/folder.json') {
    const body = { folder: name, compilations: compilations.map((one) => one.name) };
    return { status: 200, ending: '.json', body: JSON.stringify(body) };
  }
  const [, index] = /^\/compilations\/(\d{1,9})\.json$/.exec(address) ?? [];
  const compilation = index === undefined ? undefined : compilations[Number(index)];
  if (compilation === undefined) return { status: 404, ending: '', body: 'There is no such page.' };
  try {
    return { status: 200, ending: '.json', body: JSON.stringify(compilation.read()) };
  } catch (error) {
    return {
      status: 422,
      ending: '',
      body: error instanceof Error ? error.message : String(error),
    };
  }
}

/**
 * Serves until it is disposed.
 *
 * @throws invalid-argument where the built page is missing; what listening on a port throws
 * @example
 * await using server = await serveDebugFolder(openDebugFolder('debug'));
 * console.log(server.url);
 */
export async function serveDebugFolder(
  folder: DebugFolder,
  { port = 0, page = fileURLToPath(new URL('./explorer', import.meta.url)) }: ServeOptions = {},
): Promise<ExplorerServer> {
  const files = pageFiles(page);
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    // A page of another site that has this address by a trick of names says so here.
    const hosts = [`127.0.0.1:${bound()}`, `localhost:${bound()}`];
    const { method = '', headers, url = '/' } = request;
    const refused = !hosts.includes(headers.host ?? '') || (method !== 'GET' && method !== 'HEAD');
    const { status, ending, body } = refused
      ? { status: 403, ending: '', body: 'Refused.' }
      : answerFor(url.replace(/[?#].*$/, ''), files, folder);
    const type = TYPES[ending] ?? 'text/plain; charset=utf-8';
    response.writeHead(status, { ...HEADERS, 'Content-Type': type });
    response.end(method === 'HEAD' ? undefined : body);
  };
  const server = createServer(handle);
  const bound = (): number => (server.address() as AddressInfo).port;
  await new Promise<void>((ready, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', ready);
  });
  return {
    url: `http://127.0.0.1:${bound()}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
