/**
 * @file What flows along the edges of a graph.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import { HostArray } from './host-array.js';

/** A tensor, numbers of the host, a sequence of values, or nothing (an optional value that is left out). */
export type Value = Tensor | HostArray | readonly Value[] | null;

/** Whether a value is a sequence. */
export function isSequence(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Whether a value is a tensor or numbers, and so has a dtype and a shape. */
export function isArray(value: Value): value is Tensor | HostArray {
  return value instanceof HostArray || isTensor(value);
}
