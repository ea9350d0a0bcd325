/**
 * @file Files of the repository that pages are made of.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Root of the repository. */
export const REPOSITORY_ROOT: URL = new URL('../../../../', import.meta.url);

/** Absolute path of a file of the repository. */
export function pathOf(file: string): string {
  return fileURLToPath(new URL(file, REPOSITORY_ROOT));
}

/** Text of a file of the repository. */
export function textOf(file: string): string {
  return readFileSync(pathOf(file), 'utf8');
}

/** Bytes of a file of the repository. */
export function bytesOf(file: string): Uint8Array {
  return readFileSync(pathOf(file));
}

/** Names of the files in a folder of the repository, sorted. */
export function namesIn(folder: string): string[] {
  return readdirSync(pathOf(folder)).sort();
}
