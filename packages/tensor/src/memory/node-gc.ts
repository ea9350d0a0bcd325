/**
 * @file A synchronous garbage collection for Node, used under allocation pressure.
 *
 * Returns null where the host offers none (browsers): there, memory comes back between tasks.
 */
import { nodeBuiltin } from '@tessera/shared';

interface V8Module {
  setFlagsFromString(flag: string): void;
}

interface VmModule {
  runInNewContext(code: string): unknown;
  createContext(sandbox: object, options: { microtaskMode: 'afterEvaluate' }): object;
  Script: new (code: string) => { runInContext(context: object): unknown };
}

/** Builds the collector, or null. */
export function nodeCollector(): (() => void) | null {
  const v8 = nodeBuiltin<V8Module>('node:v8');
  const vm = nodeBuiltin<VmModule>('node:vm');
  if (v8 === null || vm === null) return null;
  try {
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
