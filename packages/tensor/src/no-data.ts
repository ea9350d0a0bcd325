/**
 * @file What `x.data` says. Programs from PyTorch write to it, others take it for the elements; both would find nothing.
 */
import { TesseraError } from '@tessera/shared';

/** @throws invalid-argument */
export function noData(): never {
  throw new TesseraError('invalid-argument', 'Tensors have no .data.', {
    hints: [
      'The same memory without history: x.detach(); writing to it: noGrad(() => x.copy_(y)).',
      'The elements: x.toTypedArray(), or await x.toArray().',
    ],
  });
}
