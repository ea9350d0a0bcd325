/**
 * @file Serves the built site under a path of its own, as a static host does, and counts the scripts that are asked for.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { SITE } from './build-site.js';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
};

/** A running server. */
export interface SiteServer extends AsyncDisposable {
  /** Ends in a slash; not the root of the host, so that absolute addresses fail. */
  readonly url: string;
  /** Bytes of script that were asked for, not compressed. */
  scriptBytes: number;
  /** Paths that were asked for and are not there. */
  readonly missing: string[];
}

/** Serves until it is disposed. */
export async function serveSite(): Promise<SiteServer> {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, 'http://site');
    const inside = pathname.startsWith('/some/path/') ? pathname.slice('/some/path/'.length) : null;
    const file = inside === null ? null : inside === '' ? 'index.html' : inside;
    const bytes = file === null ? null : await readFile(join(SITE, file)).catch(() => null);
    if (bytes === null) {
      if (pathname !== '/favicon.ico') result.missing.push(pathname);
      response.writeHead(404).end();
      return;
    }
    const type = TYPES[extname(file!)] ?? 'application/octet-stream';
    if (type === 'text/javascript') result.scriptBytes += bytes.length;
    response.setHeader('Content-Type', type).end(bytes);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const result: SiteServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/path/`,
    scriptBytes: 0,
    missing: [],
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return result;
}
