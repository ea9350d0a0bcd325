/**
 * @file Writing files where the host is Node; null elsewhere.
 *
 * The module is looked up at run time, so that bundles for browsers import nothing of Node.
 */

/** The part of `node:fs` that debug folders need. */
export interface FileSystem {
  existsSync(path: string): boolean;
  mkdirSync(path: string, options: { readonly recursive: boolean }): unknown;
  writeFileSync(path: string, text: string): void;
}

interface NodeProcess {
  readonly env?: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(name: string): unknown;
}

const process = (globalThis as { readonly process?: NodeProcess }).process;

/** The file system, or null. */
export function nodeFiles(): FileSystem | null {
  return (process?.getBuiltinModule?.('node:fs') as FileSystem | undefined) ?? null;
}

/** A variable of the environment; empty where there is none. */
export function environmentVariable(name: string): string {
  return process?.env?.[name] ?? '';
}
