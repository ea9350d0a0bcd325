/**
 * @file Where cached files lie: a folder in Node, the origin's private file system in browsers.
 *
 * A file appears under its name whole or not at all, and one that is open for reading stays as it is.
 */

/** A file that was kept. */
export interface StoredFile {
  readonly size: number;
  /** Bytes from `begin` up to `end`. */
  read(begin: number, end: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A file that is being written. */
export interface StoreWriter {
  write(bytes: Uint8Array): Promise<void>;
  /** Makes the file appear. */
  commit(): Promise<void>;
  /** Drops what was written. */
  discard(): Promise<void>;
}

/** See the file header. Names are plain file names. */
export interface CacheStore {
  /** A file, null if there is none. */
  open(name: string): Promise<StoredFile | null>;
  create(name: string): Promise<StoreWriter>;
  remove(name: string): Promise<void>;
  /** Removes all files. */
  clear(): Promise<void>;
}
