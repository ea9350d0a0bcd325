/**
 * @file The state of an optimizer as tensors by name: `state.0.exp_avg`, `paramGroups.0.lr`.
 *
 * A file has tensors only, so its numbers are float64 tensors of one element, truth values bools, words the codes of
 * their letters, and null is a tensor of no elements. `loadStateDict` of optimizers takes them back.
 */
import { tensor } from '../create.js';
import type { Tensor } from '../tensor.js';
import { isTensor } from '../tensor-factory.js';

/** The state dict of an optimizer. */
export interface SavedOptimizer {
  readonly state: object;
  readonly paramGroups: readonly object[];
}

/** Whether it is one, and not tensors by name or an optimizer, whose state is a map. */
export function isOptimizerState(value: object): value is SavedOptimizer {
  const { state, paramGroups }: Partial<SavedOptimizer> = value ?? {};
  return (
    typeof state === 'object' &&
    !isTensor(state) &&
    !(state instanceof Map) &&
    Array.isArray(paramGroups)
  );
}

/** See the file header. */
export function optimizerTensors(
  value: unknown,
  name = '',
  into: Record<string, Tensor> = {},
): Record<string, Tensor> {
  if (isTensor(value)) into[name] = value;
  else if (typeof value === 'number') into[name] = tensor(value, { dtype: 'float64' });
  else if (typeof value === 'boolean') into[name] = tensor(value);
  else if (typeof value === 'string')
    into[name] = tensor(
      Array.from(value, (letter) => letter.charCodeAt(0)),
      { dtype: 'uint8' },
    );
  else if (value === null) into[name] = tensor([], { dtype: 'float64' });
  else
    for (const [key, inner] of Object.entries(value ?? {}))
      optimizerTensors(inner, name === '' ? key : `${name}.${key}`, into);
  return into;
}
