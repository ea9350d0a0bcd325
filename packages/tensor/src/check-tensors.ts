/**
 * @file Arguments that are tensors, for functions that read them before an operator checks them.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from './tensor-factory.js';
import { describe } from './dispatch/check-arguments.js';

/** @throws invalid-argument unless the arguments of a function, by name in order, are tensors */
export function checkTensors(name: string, given: Readonly<Record<string, unknown>>): void {
  const wrong = Object.keys(given).find((argument) => !isTensor(given[argument]));
  if (wrong === undefined) return;
  throw new TesseraError(
    'invalid-argument',
    `${name}(): argument '${wrong}' must be Tensor, not ${describe(given[wrong])}`,
    { hints: ['Pass a tensor.'] },
  );
}
