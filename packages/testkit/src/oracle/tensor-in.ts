/**
 * @file Tensors in what a call was given or gave back, which the oracle's files name by argument and position.
 */
import { type Tensor, isTensor } from '@tessera/tensor';

/** An argument that is a tensor, or the element of one that is a list. @throws where there is none */
export function tensorIn(value: unknown, index: number | null): Tensor {
  const found = index !== null && Array.isArray(value) ? value[index] : value;
  if (isTensor(found)) return found;
  throw new TypeError(`no tensor: ${String(found)}`);
}

/** The results of a call in one list, as the oracle numbers their gradients; null for what is no tensor. */
export function resultsIn(result: unknown): (Tensor | null)[] {
  const list: readonly unknown[] = Array.isArray(result) ? result.flat() : [result];
  return list.map((each) => (isTensor(each) ? each : null));
}
