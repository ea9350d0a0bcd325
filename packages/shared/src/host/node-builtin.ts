/**
 * @file Built-in modules of Node where there is Node; null elsewhere.
 *
 * They are looked up at run time, so that bundles for browsers import nothing of Node.
 */

interface HostProcess {
  getBuiltinModule?(name: string): unknown;
}

/** The built-in module of this name (`node:fs`) as the part `T` that is used of it, or null. */
export function nodeBuiltin<T>(name: string): T | null {
  const { process }: { readonly process?: HostProcess } = globalThis;
  return (process?.getBuiltinModule?.(name) as T | undefined) ?? null;
}
