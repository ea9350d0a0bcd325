/**
 * @file Files where the host is Node; null elsewhere.
 */
import { nodeBuiltin } from '@tessera/shared';

/** The part of `node:fs` that debug folders need. */
export interface FileSystem {
  existsSync(path: string): boolean;
  mkdirSync(path: string, options: { readonly recursive: boolean }): unknown;
  readFileSync(path: string, encoding: 'utf8'): string;
  writeFileSync(path: string, text: string): void;
}

/** The file system, or null. */
export function nodeFiles(): FileSystem | null {
  return nodeBuiltin('node:fs');
}
