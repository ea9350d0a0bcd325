/**
 * @file Nested containers as names: what lies in `{ model: { fc: … } }` is `model.fc`.
 */
import { invalidTorch } from './invalid-torch.js';
import {
  PickleDict,
  PickleGlobal,
  PickleTuple,
  type PickleValue,
  TorchTensor,
} from './pickle-values.js';

/** A value of a checkpoint that is no tensor: a number of an epoch, a name of a schedule. */
export type TorchScalar = null | boolean | number | bigint | string;

/** What a file holds, by name. */
export interface NamedValues {
  readonly tensors: ReadonlyMap<string, TorchTensor>;
  readonly values: ReadonlyMap<string, TorchScalar>;
}

const MAX_DEPTH = 100;

/**
 * Names all that lies in containers, joined by dots; of lists and tuples the numbers from 0 on. With a `prefix` only
 * what lies under it, named from there.
 *
 * A pickle may refer to one value from many places, or from inside of itself: what is named is bounded by its length.
 *
 * @throws torch-checkpoint-invalid
 */
export function nameValues(root: PickleValue, pickleBytes: number, prefix: string): NamedValues {
  const tensors = new Map<string, TorchTensor>();
  const values = new Map<string, TorchScalar>();
  const under = prefix === '' ? '' : `${prefix}.`;
  let visits = 1000 + 8 * pickleBytes;
  let letters = 1_000_000 + 64 * pickleBytes;

  const add = (path: string, value: TorchTensor | TorchScalar): void => {
    if (!path.startsWith(under)) return;
    const name = path.slice(under.length);
    if (name === '__proto__') invalidTorch(`a tensor cannot be named '${name}'`);
    if (tensors.has(name) || values.has(name))
      invalidTorch(`two of its values are named '${name}'`);
    if (value instanceof TorchTensor) tensors.set(name, value);
    else values.set(name, value);
  };
  const visit = (value: PickleValue, path: string | null, depth: number): void => {
    letters -= path?.length ?? 0;
    if (--visits < 0 || letters < 0 || depth > MAX_DEPTH)
      invalidTorch('its containers lie in each other too deeply, or again and again');
    const join = (key: string): string => (path === null ? key : `${path}.${key}`);
    if (value instanceof PickleDict) {
      for (const [key, item] of value.entries) visit(item, join(keyName(key)), depth + 1);
    } else if (Array.isArray(value) || value instanceof PickleTuple) {
      const items = Array.isArray(value) ? value : value.items;
      for (const [i, item] of items.entries()) visit(item, join(String(i)), depth + 1);
    } else if (value instanceof TorchTensor) add(path ?? '', value);
    else if (value instanceof PickleGlobal) add(path ?? '', value.name);
    else if (value === null || typeof value !== 'object') add(path ?? '', value);
    else invalidTorch('a storage stands where a tensor should be');
  };
  visit(root, null, 0);
  return { tensors, values };
}

function keyName(key: PickleValue): string {
  if (key === null || typeof key !== 'object') return String(key);
  return invalidTorch('a key of a dict is neither a string nor a number');
}
