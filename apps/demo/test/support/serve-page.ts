/**
 * @file Bundles the page and serves it, isolated across origins (shared memory, so threads) or not.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const DIGITS = new URL('../../data/digits.safetensors.gz', import.meta.url);

/** The files of a page by name; `<page>.js` is the one to load. */
export type PageFiles = ReadonlyMap<string, string>;

/** Bundles for browsers only: an import of a Node module fails. What is loaded on demand is a file of its own. */
export async function bundlePage(page = 'browser-page'): Promise<PageFiles> {
  const bundle = await build({
    entryPoints: [fileURLToPath(new URL(`./${page}.ts`, import.meta.url))],
    bundle: true,
    write: false,
    splitting: true,
    outdir: '/',
    format: 'esm',
    platform: 'browser',
    conditions: ['@tessera/source'],
    logLevel: 'silent',
  });
  return new Map(bundle.outputFiles.map(({ path, text }) => [basename(path), text]));
}

/** A running server. */
export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Bytes of script that were asked for. */
  scriptBytes: number;
}

/** Serves the page until it is disposed. */
export async function servePage(
  files: PageFiles,
  isolated: boolean,
  entry = 'browser-page',
): Promise<PageServer> {
  const digits = await readFile(DIGITS);
  const page = `<!doctype html><script type="module" src="/${entry}.js"></script>`;
  const server = createServer((request, response) => {
    if (isolated) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    const name = new URL(request.url!, 'http://page').pathname.slice(1);
    const script = files.get(name);
    if (script !== undefined) {
      result.scriptBytes += script.length;
      response.setHeader('Content-Type', 'text/javascript').end(script);
    } else if (name === 'digits') response.end(digits);
    else if (name === '') response.setHeader('Content-Type', 'text/html').end(page);
    else response.writeHead(404).end();
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const result: PageServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    scriptBytes: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return result;
}
