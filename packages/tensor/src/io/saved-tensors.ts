/**
 * @file What is saved, as tensors by name: a model's state dict is that already, an optimizer's becomes it, and anything
 * else is refused with what to pass instead.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '../tensor.js';
import { isTensor } from '../tensor-factory.js';
import { type SavedOptimizer, isOptimizerState, optimizerTensors } from './optimizer-tensors.js';

/**
 * The tensors of a file by name.
 *
 * @param writer the function that was called, and how its call with a model's state is written
 * @throws invalid-argument for a module, an optimizer, nested state, and values that are no tensors
 */
export function savedTensors(
  writer: string,
  call: string,
  values: Readonly<Record<string, Tensor>> | SavedOptimizer,
): Readonly<Record<string, Tensor>> {
  if (typeof values !== 'object' || values === null || isTensor(values))
    refuse(writer, `not ${isTensor(values) ? 'a tensor' : String(values)}`, [
      `Give the state of a model or an optimizer: ${call}.`,
    ]);
  if (isOptimizerState(values)) return optimizerTensors(values);
  if (typeof values['stateDict'] === 'function')
    refuse(writer, `not ${values.constructor.name}`, [`Give its state: ${call}.`]);
  for (const [name, value] of Object.entries<unknown>(values))
    if (!isTensor(value)) refuseValue(writer, name, value);
  return values;
}

function refuseValue(writer: string, name: string, value: unknown): never {
  const nested = typeof value === 'object' && value !== null;
  refuse(writer, `and '${name}' is ${nested ? 'an object' : String(value)}`, [
    nested
      ? `Give each tensor in it a name of its own: '${name}.${Object.keys(value)[0] ?? '0'}'.`
      : 'Leave it out.',
    'Numbers and other values fit into metadata, as text: { training: JSON.stringify(…) }.',
  ]);
}

function refuse(writer: string, what: string, hints: readonly string[]): never {
  throw new TesseraError('invalid-argument', `${writer}() writes tensors by name, ${what}.`, {
    hints,
  });
}
