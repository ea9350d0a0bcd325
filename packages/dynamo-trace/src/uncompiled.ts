/**
 * @file What is said of a graph that runs operator by operator, because its backend cannot compile it.
 */
import type { CompileRequest } from './backend.js';

/** What to do about it. */
export const UNCOMPILED_HINT =
  'detach() results that nobody differentiates, or parameters before a derivative inside (grad, vmap).';

/** Functions of which it was told. */
const told = new WeakSet<object>();

/** Tells it, once per function. */
export function warnUncompiled(
  { name, program }: CompileRequest,
  code: string,
  reason: string,
): void {
  if (told.has(program)) return;
  told.add(program);
  console.warn(
    `tessera: a graph of ${name} runs operator by operator (${code}): ${reason}\n→ ${UNCOMPILED_HINT}`,
  );
}
