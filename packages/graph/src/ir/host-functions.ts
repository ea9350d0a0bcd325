/**
 * @file Functions other than operators that a graph may call.
 *
 * A graph calls any function; one that is registered here under a name can also be written to JSON
 * and read back, and, if it is pure, be removed when nobody uses its result. `setGradEnabled` is how a
 * graph of ops above autograd switches grad mode.
 */
import { TesseraError } from '@tessera/shared';
import { setGradEnabled } from '@tessera/tensor';
import { getItem } from './get-item.js';
import type { HostFunction } from './node.js';

/** What passes may assume about a registered function. */
export interface HostFunctionTraits {
  /** No effects and the same result for the same arguments. */
  readonly pure: boolean;
}

const byName = new Map<string, HostFunction>([
  ['getItem', getItem],
  ['setGradEnabled', setGradEnabled],
]);
const names = new Map<HostFunction, string>([...byName].map(([name, fn]) => [fn, name]));
const pure = new Set<HostFunction>([getItem]);

/** Registers a function for graphs. @throws invalid-argument when the name is taken */
export function registerHostFunction(
  name: string,
  fn: HostFunction,
  traits: HostFunctionTraits,
): void {
  const existing = byName.get(name);
  if (existing !== undefined && existing !== fn) {
    throw new TesseraError('invalid-argument', `A host function named '${name}' already exists.`, {
      context: { name },
      hints: [`Prefix the name with your package's: 'my-package.${name}'.`],
    });
  }
  byName.set(name, fn);
  names.set(fn, name);
  if (traits.pure) pure.add(fn);
  else pure.delete(fn);
}

/** The name under which a function is registered, or undefined. */
export function hostFunctionName(fn: HostFunction): string | undefined {
  return names.get(fn);
}

/** The registered function of a name. @throws op-unknown */
export function hostFunction(name: string): HostFunction {
  const found = byName.get(name);
  if (found === undefined) {
    throw new TesseraError('op-unknown', `There is no host function '${name}'.`, {
      context: { name },
      hints: ['Register it with registerHostFunction before reading the graph.'],
    });
  }
  return found;
}

/** Whether a call of the function may be removed or merged. */
export function isPureHostFunction(fn: HostFunction): boolean {
  return pure.has(fn);
}
