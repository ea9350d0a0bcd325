/**
 * @file A whole file at once, and files in the folder of another: for formats that are not streamed.
 */
import { type ByteSource, beside, openSource, resolveSource } from './byte-source.js';
import { Cursor } from './cursor.js';
import { type SourceOptions, signalOf } from './loading.js';
import { unreadable } from './unreadable.js';

/** All bytes of a source. @throws source-unreadable; the reason of the signal when that is aborted */
export async function readWhole(
  source: ByteSource,
  options: SourceOptions = {},
): Promise<Uint8Array> {
  const signal = signalOf(source, options);
  signal?.throwIfAborted();
  const { requestInit } = options;
  const file = await openSource(resolveSource(source), {
    signal,
    requestInit,
    parts: false,
    cache: null,
  });
  const ended = (): never => unreadable(file.name, 'it is cut off', {}, 'Read it again.');
  const cursor = new Cursor(file, { signal, ended });
  let good = false;
  try {
    const bytes = await cursor.rest();
    good = true;
    return bytes;
  } finally {
    await cursor.close(good);
  }
}

/** The file at a path of names (no `..`) below the folder of a source; null if it lies in none. */
export function sourceBelow(source: ByteSource, path: string): ByteSource | null {
  const resolved = resolveSource(source);
  const names = path.split(/[/\\]/);
  if (typeof resolved === 'string') return beside(resolved, names.join('/'));
  const folder = beside(resolved, '');
  if (folder === null) return null;
  const url = names.map(encodeURIComponent).join('/');
  if (folder instanceof URL) return new URL(url, folder);
  return folder instanceof Request ? new Request(new URL(url, folder.url), folder) : null;
}
