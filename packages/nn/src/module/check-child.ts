/**
 * @file What containers of modules refuse.
 */
import { TesseraError } from '@tessera/shared';
import { isModule } from './module-tree.js';

/** @throws invalid-argument for an entry of a container that is no module */
export function checkChild(
  container: string,
  name: string | number,
  value: unknown,
  hint: string,
): void {
  if (isModule(value)) return;
  throw new TesseraError(
    'invalid-argument',
    `${container}: '${name}' is ${typeof value}, not a module.`,
    { hints: [hint] },
  );
}

/** @throws invalid-argument unless a container's `values` can be gone through: a list, or with `keyed` an object */
export function checkValues(container: string, values: unknown, keyed = false): void {
  if (typeof values === 'object' && values !== null && (keyed || Symbol.iterator in values)) return;
  const [wanted, example] = keyed ? ['an object', '{ a, b }'] : ['a list', '[a, b]'];
  throw new TesseraError('invalid-argument', `${container}: ${wanted} is expected.`, {
    hints: [`Write new ${container}(${example}).`],
  });
}

/** @throws invalid-argument unless a function's argument is a module */
export function checkModule(owner: string, value: unknown): void {
  if (isModule(value)) return;
  throw new TesseraError('invalid-argument', `${owner}() takes a module, not ${String(value)}.`, {
    hints: [`Write ${owner}(model, …).`],
  });
}

/** @throws invalid-argument unless a function's argument can be gone through; `example` is one */
export function checkList(owner: string, value: unknown, example: string): void {
  if (typeof value === 'object' && value !== null && Symbol.iterator in value) return;
  throw new TesseraError('invalid-argument', `${owner}() takes a list, not ${String(value)}.`, {
    hints: [`Write ${owner}(${example}).`],
  });
}
