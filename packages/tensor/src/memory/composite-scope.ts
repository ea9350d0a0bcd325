/**
 * @file Memory that a composite operator makes on the way to its result.
 *
 * Its parts are called by library code alone, so the program never gets what they return, unless that is the result, shares its memory
 * or is saved for backward (`SavedTensor` takes it out). The rest is given back as soon as the operator is done: the next one
 * finds it in the processor's cache, and no collection has to find it. See docs/adr/0022.
 */
import type { OpOverload } from '../op/op-overload.js';
import type { NamedArgs } from '../op/op-record.js';
import { isTensor } from '../tensor-factory.js';
import { LibraryScope, isUnobserved, libraryScopes, withScope } from './library-scope.js';

/** Puts the memory of tensors from a scope into the one that is open now. */
function handOver(value: unknown, from: LibraryScope): void {
  if (Array.isArray(value)) for (const item of value) handOver(item, from);
  else if (isTensor(value) && value.storageOrNull?.scope === from) {
    value.storageOrNull.scope = null;
    libraryScopes.open?.add(value.storageOrNull);
  }
}

/** Runs the decomposition of an operator in a scope that only results leave, and arguments that were given other memory. */
export function runComposite(
  op: OpOverload,
  args: readonly unknown[],
  decompose: (args: NamedArgs) => unknown,
): unknown {
  const run = (): unknown => decompose(op.bind(args));
  // What gives views makes at most the memory of its result.
  if (op.isCustom || op.schema.isView || !isUnobserved()) return run();
  const scope = new LibraryScope();
  const result = withScope(scope, run);
  handOver([result, args], scope);
  scope.close();
  return result;
}
