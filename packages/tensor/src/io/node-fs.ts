/**
 * @file Node's file system where there is one; browsers have none, and bundles must not ask for it.
 */
import { nodeBuiltin } from '@tessera/shared';

/** What is used of `node:fs`. */
export interface NodeFs {
  readonly promises: {
    stat(path: URL | string): Promise<{ size: number; isDirectory(): boolean }>;
    readFile(path: URL | string): Promise<Uint8Array>;
    writeFile(path: URL | string, data: Uint8Array | string): Promise<void>;
    rename(from: URL | string, to: URL | string): Promise<void>;
    rm(path: URL | string, options: { force: boolean }): Promise<void>;
  };
  createReadStream(
    path: URL | string,
    options: { highWaterMark: number },
  ): AsyncIterable<Uint8Array>;
}

/** `node:fs`, or null outside Node. */
export function nodeFs(): NodeFs | null {
  return nodeBuiltin('node:fs');
}
