/**
 * @file A synchronous garbage collection for Node, used under allocation pressure.
 *
 * Returns null where the host offers none (browsers): there, memory comes back between tasks.
 */

interface NodeProcess {
  readonly versions?: { readonly node?: string };
  getBuiltinModule?(name: string): unknown;
}

interface VmModule {
  runInNewContext(code: string): unknown;
  createContext(sandbox: object, options: { microtaskMode: 'afterEvaluate' }): object;
  Script: new (code: string) => { runInContext(context: object): unknown };
}

/** Builds the collector, or null. */
export function nodeCollector(): (() => void) | null {
  const process = (globalThis as { process?: NodeProcess }).process;
  if (process?.versions?.node === undefined || process.getBuiltinModule === undefined) return null;
  try {
    const v8 = process.getBuiltinModule('node:v8') as { setFlagsFromString(flag: string): void };
    const vm = process.getBuiltinModule('node:vm') as VmModule;
    const existing = (globalThis as { gc?: () => void }).gc;
    if (existing === undefined) v8.setFlagsFromString('--expose-gc');
    const gc = existing ?? (vm.runInNewContext('gc') as () => void);
    const context = vm.createContext({}, { microtaskMode: 'afterEvaluate' });
    const script = new vm.Script('0');
    return () => {
      script.runInContext(context);
      gc();
    };
  } catch {
    return null;
  }
}
