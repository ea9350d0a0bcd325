/**
 * @file What containers of modules refuse.
 */
import { TesseraError } from '@tessera/shared';
import { isModule } from './module-tree.js';

/** @throws invalid-argument for an entry of a container that is no module */
export function checkChild(container: string, name: string, value: unknown, hint: string): void {
  if (isModule(value)) return;
  throw new TesseraError(
    'invalid-argument',
    `${container}: '${name}' is ${typeof value}, not a module.`,
    { hints: [hint] },
  );
}
