/**
 * @file What Node lets a library ask of V8's garbage collector.
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

/**
 * Asks V8 to make no object old from the start.
 *
 * It does that where objects were seen to survive, as most do while a function is recorded, and never takes it back. A
 * later call's objects die at once, but an old one is found dead late, and keeps what it points to: operands know their call,
 * and that all its values, so that a few places where arrays are made let everything that calls make grow old.
 */
export function keepObjectsYoung(): void {
  try {
    nodeBuiltin<V8Module>('node:v8')?.setFlagsFromString('--no-allocation-site-pretenuring');
  } catch {
    // Hosts that are like Node in other ways have no flags to set: memory comes back a little later there.
  }
}

/** A synchronous collection, used under allocation pressure; null in browsers, where memory comes back between tasks. */
export function nodeCollector(): (() => void) | null {
  const v8 = nodeBuiltin<V8Module>('node:v8');
  const vm = nodeBuiltin<VmModule>('node:vm');
  if (v8 === null || vm === null) return null;
  try {
    const existing = globalThis.gc;
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
