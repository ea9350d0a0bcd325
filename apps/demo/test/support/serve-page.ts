/**
 * @file Bundles the page and serves it, isolated across origins (shared memory, so threads) or not.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const DIGITS = new URL('../../data/digits.safetensors.gz', import.meta.url);

/** The page's script. For browsers only: an import of a Node module fails the build. */
export async function bundlePage(): Promise<string> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL('./browser-page.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['@tessera/source'],
    logLevel: 'silent',
  });
  return bundle.outputFiles[0]!.text;
}

/** A running server. */
export interface PageServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves the page until it is disposed. */
export async function servePage(script: string, isolated: boolean): Promise<PageServer> {
  const digits = await readFile(DIGITS);
  const routes: Record<string, [type: string, body: string | Uint8Array]> = {
    '/': ['text/html', '<!doctype html><script type="module" src="/page.js"></script>'],
    '/page.js': ['text/javascript', script],
    '/digits': ['application/octet-stream', digits],
  };
  const server = createServer((request, response) => {
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    const route = routes[new URL(request.url!, 'http://page').pathname];
    if (route === undefined) response.writeHead(404).end();
    else response.setHeader('Content-Type', route[0]).end(route[1]);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
