/**
 * @file Writing files where the host is Node; null elsewhere.
 */
import { nodeBuiltin } from '@tessera/shared';

/** The part of `node:fs` that debug folders need. */
export interface FileSystem {
  existsSync(path: string): boolean;
  mkdirSync(path: string, options: { readonly recursive: boolean }): unknown;
  writeFileSync(path: string, text: string): void;
}

interface HostProcess {
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const { process } = globalThis as { readonly process?: HostProcess };

/** The file system, or null. */
export function nodeFiles(): FileSystem | null {
  return nodeBuiltin('node:fs');
}

/** A variable of the environment; empty where there is none. */
export function environmentVariable(name: string): string {
  return process?.env?.[name] ?? '';
}
