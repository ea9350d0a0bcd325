/**
 * @file A module copied with everything below it.
 *
 * Parameters and buffers get memory of their own; what was shared inside stays shared inside. Hooks are
 * not copied. Modelled on `copy.deepcopy` of a module.
 */
import { type Tensor, isTensor, noGrad } from '@tessera/tensor';
import { Parameter } from '../parameter.js';
import type { Module } from './module.js';
import { isModule } from './module-tree.js';

function copyTensor(tensor: Tensor): Tensor {
  return noGrad(() => {
    const data = tensor.clone();
    if (tensor instanceof Parameter)
      return new Parameter(data, { requiresGrad: tensor.requiresGrad });
    return tensor.requiresGrad ? data.requiresGrad_() : data;
  });
}

function copyValue(value: unknown, copies: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known;
  const remember = <T>(copy: T): T => {
    copies.set(value, copy);
    return copy;
  };
  if (isTensor(value)) return remember(copyTensor(value));
  if (Array.isArray(value)) {
    const list = remember<unknown[]>([]);
    for (const item of value) list.push(copyValue(item, copies));
    return list;
  }
  if (value instanceof Map) {
    const map = remember(new Map<unknown, unknown>());
    for (const [key, item] of value) map.set(key, copyValue(item, copies));
    return map;
  }
  const proto: object | null = Object.getPrototypeOf(value);
  if (!isModule(value) && proto !== Object.prototype && proto !== null) return value;
  const copy = remember<Record<string, unknown>>(Object.create(proto));
  for (const [key, item] of Object.entries(value))
    copy[key] = isModule(value) && key === '_hooks' ? null : copyValue(item, copies);
  // Fields that are computed from others, as parametrizations and pruning make them, are so in the copy.
  if (isModule(value))
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value)))
      if (property.get !== undefined) Object.defineProperty(copy, key, property);
  return copy;
}

/** An independent copy of a module. */
export function cloneModule<M extends Module>(module: M): M {
  return copyValue(module, new Map()) as M;
}
