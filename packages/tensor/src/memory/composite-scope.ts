/**
 * @file Memory that a composite operator makes on the way to its result.
 *
 * Its parts are called by library code alone, so the program never gets what they return, unless that is the result, shares its memory
 * or is saved for backward (`keepForBackward`). The rest is given back as soon as the operator is done: the next one
 * finds it in the processor's cache, and no collection has to find it. See docs/adr/0022.
 */
import { isTensor } from '../tensor-factory.js';
import { LibraryScope, isUnobserved, libraryScopes } from './library-scope.js';

/** Takes the memory of tensors out of a scope, into the one around it. */
function handOver(value: unknown, scope: LibraryScope): void {
  if (Array.isArray(value)) for (const item of value) handOver(item, scope);
  else if (isTensor(value) && value.storageOrNull?.scope === scope) {
    if (scope.outer == null) value.storageOrNull.scope = null;
    else scope.outer.add(value.storageOrNull);
  }
}

/**
 * Runs library code that keeps nothing but tensors that it returns or writes to.
 *
 * @param written what it may give other memory
 */
export function runComposite<Args>(
  run: (args: Args) => unknown,
  args: Args,
  written: readonly unknown[],
): unknown {
  if (!isUnobserved()) return run(args);
  const outer = libraryScopes.open;
  const scope = new LibraryScope(outer);
  libraryScopes.open = scope;
  let result: unknown;
  try {
    result = run(args);
  } finally {
    libraryScopes.open = outer;
  }
  if (scope.made !== null) {
    handOver(result, scope);
    handOver(written, scope);
    scope.close();
  }
  return result;
}
