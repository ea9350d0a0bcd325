/**
 * @file Cached files in the origin private file system of browsers, in pages and workers.
 *
 * `createWritable` writes to the side and replaces the file when it is closed. Where it is missing (workers of older
 * Safari) the file is written in place: its last bytes make it valid, so a half is not taken for a whole.
 */
import type { CacheStore, StoreWriter, StoredFile } from './cache-store.js';

/** What is used of a synchronous access handle. */
interface SyncHandle {
  truncate(size: number): void;
  write(bytes: Uint8Array, options: { at: number }): number;
  flush(): void;
  close(): void;
}

/** What is used of file handles; `createSyncAccessHandle` exists in workers only. */
interface FileHandle {
  getFile(): Promise<Blob>;
  readonly createWritable?: () => Promise<{
    write(bytes: Uint8Array): Promise<void>;
    close(): Promise<void>;
    abort(): Promise<void>;
  }>;
  readonly createSyncAccessHandle?: () => Promise<SyncHandle>;
}

interface FolderHandle {
  getDirectoryHandle(name: string, options?: { create: boolean }): Promise<FolderHandle>;
  getFileHandle(name: string, options?: { create: boolean }): Promise<FileHandle>;
  removeEntry(name: string, options?: { recursive: boolean }): Promise<void>;
}

interface Host {
  readonly navigator?: {
    readonly storage?: { readonly getDirectory?: () => Promise<FolderHandle> };
  };
}

const FOLDER = 'tessera';

function stored(file: Blob): StoredFile {
  return {
    size: file.size,
    read: async (begin, end) => new Uint8Array(await file.slice(begin, end).arrayBuffer()),
    close: () => Promise.resolve(),
  };
}

async function createFile(folder: FolderHandle, name: string): Promise<StoreWriter> {
  const handle = await folder.getFileHandle(name, { create: true });
  if (handle.createWritable !== undefined) {
    const writable = await handle.createWritable();
    return {
      write: (bytes) => writable.write(bytes),
      commit: () => writable.close(),
      async discard() {
        await writable.abort();
        // Of a file that was there before the old contents stay.
        if ((await handle.getFile()).size === 0) await folder.removeEntry(name);
      },
    };
  }
  const access = await handle.createSyncAccessHandle!();
  access.truncate(0);
  let at = 0;
  return {
    write(bytes) {
      at += access.write(bytes, { at });
      return Promise.resolve();
    },
    commit() {
      access.flush();
      access.close();
      return Promise.resolve();
    },
    async discard() {
      access.close();
      await folder.removeEntry(name);
    },
  };
}

/** The store of this name; null where there is no such file system. */
export function opfsStore(name: string): CacheStore | null {
  const storage = (globalThis as Host).navigator?.storage;
  if (storage?.getDirectory === undefined) return null;
  const parent = async (): Promise<FolderHandle> =>
    (await storage.getDirectory!()).getDirectoryHandle(FOLDER, { create: true });
  const folder = async (): Promise<FolderHandle> =>
    (await parent()).getDirectoryHandle(name, { create: true });
  return {
    async open(file) {
      try {
        const handle = await (await folder()).getFileHandle(file);
        return stored(await handle.getFile());
      } catch {
        return null;
      }
    },
    create: async (file) => createFile(await folder(), file),
    // What is not there need not be removed.
    remove: async (file) => (await folder()).removeEntry(file).catch(() => {}),
    clear: async () => (await parent()).removeEntry(name, { recursive: true }).catch(() => {}),
  };
}
