/**
 * @file Node's file system where there is one; browsers have none, and bundles must not ask for it.
 */
import { nodeBuiltin } from '@tessera/shared';

/** What is used of an open file of `node:fs`. */
export interface NodeFileHandle {
  stat(): Promise<{ readonly size: number; isDirectory(): boolean }>;
  read(
    into: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
  writeFile(data: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

/** What is used of `node:fs`. */
export interface NodeFs {
  readonly promises: {
    open(path: URL | string, flags: 'r' | 'wx'): Promise<NodeFileHandle>;
    mkdir(path: string, options: { recursive: true }): Promise<unknown>;
    writeFile(path: URL | string, data: Uint8Array | string): Promise<void>;
    readdir(path: string): Promise<string[]>;
    rename(from: URL | string, to: URL | string): Promise<void>;
    rm(path: URL | string, options: { force: boolean; recursive?: boolean }): Promise<void>;
  };
}

/** `node:fs`, or null outside Node. */
export function nodeFs(): NodeFs | null {
  return nodeBuiltin('node:fs');
}
