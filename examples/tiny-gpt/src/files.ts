/**
 * @file What the script reads and writes on this machine: the text, and the exported folder. Everything else of the
 * example runs in pages, too.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Folder } from './export.js';
import { Text } from './text.js';

/** Sonnets and other English in the public domain; see the README beside it. */
export const DEFAULT_TEXT = new URL('../data/text.txt', import.meta.url);

export function readText(path: string | URL): Text {
  return new Text(readFileSync(path, 'utf8'));
}

/** Writes files into a folder, which is made if need be. */
export function writeFolder(folder: string, files: Folder): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
}
