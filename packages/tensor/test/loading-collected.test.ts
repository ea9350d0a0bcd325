/**
 * @file An answer that the collector takes before its body is read: engines then cancel the body, and a stream that
 * was cancelled looks as if it had ended.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { ByteFile } from '../src/io/byte-file.js';
import { openSource } from '../src/io/byte-source.js';
import { serveFiles } from './support/file-server.js';

const bytes = new Uint8Array(3_000_000).map((_, i) => i % 251);
const options = { signal: undefined, requestInit: undefined, parts: false, cache: null };

/** Collects until whatever waits for it has been told. */
async function collect(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const now = runInNewContext('gc') as () => void;
  for (let i = 0; i < 10; i++) {
    now();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function length(file: ByteFile): Promise<number> {
  const reader = await file.open(0);
  let sum = 0;
  for (let part = await reader.read(); part !== null; part = await reader.read())
    sum += part.byteLength;
  await file.close(true);
  return sum;
}

it('comes whole', async () => {
  await using server = await serveFiles({
    '/plain': { bytes, etag: '"v1"' },
    '/packed': { bytes, gzip: true },
  });
  for (const path of ['/plain', '/packed']) {
    const asked = await openSource(new URL(server.url + path), options);
    const given = await openSource(await fetch(server.url + path), options);
    await collect();
    expect(await length(asked)).toBe(bytes.length);
    expect(await length(given)).toBe(bytes.length);
  }
});
