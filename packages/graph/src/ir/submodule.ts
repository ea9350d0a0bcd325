/**
 * @file Attributes of a GraphModule as seen by whoever runs its graph.
 */
import { graphError } from './graph-error.js';

/** Finds attributes by dotted path. */
export interface AttributeLookup {
  /** @throws graph-lint when there is none */
  getAttribute(path: string): unknown;
}

/** What `call_module` may call: a function, or an object with `forward`. */
export type Submodule = ((...args: never[]) => unknown) | { forward(...args: never[]): unknown };

/** Calls a submodule. @throws graph-lint when the attribute cannot be called */
export function callSubmodule(value: unknown, path: string, args: readonly unknown[]): unknown {
  if (typeof value === 'function') return value(...args);
  if (
    typeof value === 'object' &&
    value !== null &&
    'forward' in value &&
    typeof value.forward === 'function'
  ) {
    return value.forward(...args);
  }
  throw graphError(
    `Attribute '${path}' cannot be called.`,
    'A submodule is a function, or has a forward method.',
  );
}
