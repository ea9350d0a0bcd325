/**
 * @file Cached files in a folder, in Node: written beside their place and renamed.
 */
import { nodeBuiltin } from '@tessera/shared';
import { type NodeFileHandle, type NodeFs, nodeFs } from '../node-fs.js';
import type { CacheStore, StoreWriter, StoredFile } from './cache-store.js';

/** The user's folder for what can be fetched again, as the operating system has it. */
function userCacheFolder(): string {
  const { env, platform } = globalThis.process;
  const home = nodeBuiltin<{ homedir(): string }>('node:os')!.homedir();
  if (platform === 'win32') return env.LOCALAPPDATA ?? `${home}/AppData/Local`;
  return platform === 'darwin' ? `${home}/Library/Caches` : env.XDG_CACHE_HOME || `${home}/.cache`;
}

async function openStored(fs: NodeFs, path: string): Promise<StoredFile | null> {
  let handle: NodeFileHandle;
  try {
    handle = await fs.promises.open(path, 'r');
  } catch {
    return null;
  }
  const { size } = await handle.stat();
  return {
    size,
    async read(begin, end) {
      const bytes = new Uint8Array(end - begin);
      let at = 0;
      while (at < bytes.byteLength) {
        const { bytesRead } = await handle.read(bytes, at, bytes.byteLength - at, begin + at);
        if (bytesRead === 0) break;
        at += bytesRead;
      }
      return bytes.subarray(0, at);
    },
    close: () => handle.close(),
  };
}

async function createFile(fs: NodeFs, folder: string, name: string): Promise<StoreWriter> {
  await fs.promises.mkdir(folder, { recursive: true });
  // A name of its own: another process may write the same file.
  const partial = `${folder}/${name}.${crypto.randomUUID()}.partial`;
  const handle = await fs.promises.open(partial, 'wx');
  return {
    write: (bytes) => handle.writeFile(bytes),
    async commit() {
      await handle.close();
      await fs.promises.rename(partial, `${folder}/${name}`);
    },
    async discard() {
      await handle.close().catch(() => {});
      await fs.promises.rm(partial, { force: true });
    },
  };
}

/** The store in a folder, or of this name in the user's cache folder; null outside Node. */
export function nodeStore(name: string, folder: string | undefined): CacheStore | null {
  const fs = nodeFs();
  if (fs === null) return null;
  const at = folder ?? `${userCacheFolder()}/tessera/${name}`;
  return {
    open: (file) => openStored(fs, `${at}/${file}`),
    create: (file) => createFile(fs, at, file),
    remove: (file) => fs.promises.rm(`${at}/${file}`, { force: true }),
    async clear() {
      // Only what is the cache's own: the folder may be the user's.
      for (const file of await fs.promises.readdir(at).catch(() => []))
        if (/^[0-9a-f]{40}\.checkpoint(?:\..*\.partial)?$/.test(file))
          await fs.promises.rm(`${at}/${file}`, { force: true });
    },
  };
}
