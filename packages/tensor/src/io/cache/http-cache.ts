/**
 * @file The persistent cache of downloads: one entry for each address, with the version that it is.
 *
 * The server is asked whether the version kept is the present one; without a connection it is used as it is. A
 * download is kept when all of it has come and was found good. What cannot be kept (no storage, no room, nothing that
 * tells versions apart) is loaded all the same.
 */
import { TesseraError } from '@tessera/shared';
import type { ByteFile, ByteReader } from '../byte-file.js';
import type { Validators } from '../http-answer.js';
import type { CacheStore, StoredFile } from './cache-store.js';
import { type CacheEntry, EntryWriter, openEntry, readEntry } from './cached-file.js';
import { nodeStore } from './node-store.js';
import { opfsStore } from './opfs-store.js';

/** Where downloads are kept. */
export interface CheckpointCacheOptions {
  /** Name of the cache, for programs that want several; `checkpoints` if not given. */
  readonly name?: string;
  /**
   * The folder, in Node; otherwise `tessera/<name>` in the user's cache folder (`XDG_CACHE_HOME` or `~/.cache`,
   * `~/Library/Caches`, `%LOCALAPPDATA%`). Browsers take the origin private file system and ignore it.
   */
  readonly folder?: string;
}

/** `true` for the default cache, a name for another one. */
export type CheckpointCache = boolean | string | CheckpointCacheOptions;

/** A download that was kept. */
export interface CachedVersion {
  readonly validators: Validators;
  /** Headers that ask for an answer only if there is another version. */
  conditions(): Readonly<Record<string, string>>;
  open(): ByteFile;
  close(): Promise<void>;
}

/** See the file header. */
export interface HttpCache {
  find(url: string): Promise<CachedVersion | null>;
  /** The same file, kept while it is read. */
  keeping(file: ByteFile, url: string, validators: Validators): ByteFile;
  remove(url: string): Promise<void>;
}

/** Whether headers of ours need no permission of the server. */
function isSameOrigin(url: string): boolean {
  const { location }: { readonly location?: { readonly origin: string } } = globalThis;
  return location === undefined || new URL(url).origin === location.origin;
}

async function nameOf(url: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(url));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0'));
  return `${hex.slice(0, 20).join('')}.checkpoint`;
}

function cachedVersion(file: StoredFile, entry: CacheEntry): CachedVersion {
  const { etag, lastModified } = entry.validators;
  return {
    validators: entry.validators,
    conditions(): Readonly<Record<string, string>> {
      if (!isSameOrigin(entry.url)) return {};
      return etag !== null ? { 'if-none-match': etag } : { 'if-modified-since': lastModified! };
    },
    open: () => openEntry(file, entry),
    close: () => file.close(),
  };
}

/** A file whose bytes are also written to the store. */
function keptFile(
  file: ByteFile,
  store: CacheStore,
  url: string,
  validators: Validators,
): ByteFile {
  let writer: EntryWriter | null = null;
  let whole = false;
  const drop = async (): Promise<void> => {
    const failed = writer;
    writer = null;
    await failed?.discard().catch(() => {});
  };
  const reading = (reader: ByteReader): ByteReader => ({
    async read() {
      const chunk = await reader.read();
      if (chunk === null) whole = true;
      else await writer?.write(chunk).catch(drop);
      return chunk;
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return {
    ...file,
    async open(begin) {
      writer = await store.create(await nameOf(url)).then(
        (made) => new EntryWriter(made),
        () => null,
      );
      return reading(await file.open(begin));
    },
    async close(good) {
      await file.close(good);
      if (good && whole) {
        const complete = writer;
        await complete?.commit(url, validators).catch(drop);
        writer = null;
      }
      await drop();
    },
  };
}

function httpCache(store: CacheStore): HttpCache {
  return {
    async find(url) {
      const file = await store.open(await nameOf(url));
      if (file === null) return null;
      const entry = await readEntry(file).catch(() => null);
      if (entry?.url === url) return cachedVersion(file, entry);
      await file.close();
      return null;
    },
    keeping: (file, url, validators) =>
      validators.etag === null && validators.lastModified === null
        ? file
        : keptFile(file, store, url, validators),
    remove: async (url) => store.remove(await nameOf(url)),
  };
}

/** @throws invalid-argument */
function openStore(cache: Exclude<CheckpointCache, false>): CacheStore | null {
  const { name = 'checkpoints', folder } =
    cache === true ? {} : typeof cache === 'string' ? { name: cache } : cache;
  if (!/^[\w-][\w.-]*$/.test(name)) {
    throw new TesseraError('invalid-argument', `A cache cannot be named '${name}'.`, {
      hints: ['Use letters, digits, dots, dashes and underscores; `folder` takes a path.'],
    });
  }
  // Names of entries are made with it, and pages have it only where they have the file system.
  if (globalThis.crypto?.subtle === undefined) return null;
  return nodeStore(name, folder) ?? opfsStore(name);
}

/** The cache that options ask for, null for none or where nothing can be kept. @throws invalid-argument */
export function openHttpCache(cache: CheckpointCache | undefined): HttpCache | null {
  if (cache === undefined || cache === false) return null;
  const store = openStore(cache);
  return store === null ? null : httpCache(store);
}

/**
 * Removes the downloads that `loadCheckpoint` has kept in a cache.
 *
 * @throws invalid-argument
 */
export async function clearCheckpointCache(
  cache: Exclude<CheckpointCache, false> = true,
): Promise<void> {
  await openStore(cache ?? true)?.clear();
}
