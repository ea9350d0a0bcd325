/**
 * @file What is said of a graph that runs operator by operator, because its backend cannot compile it.
 */
import type { CompileRequest } from './backend.js';

/** What to do about it. */
export const UNCOMPILED_HINT =
  'Its results take gradients that no compiled backward gives. detach() those that nobody differentiates, or the parameters before a derivative that is taken inside (grad, vmap).';

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
