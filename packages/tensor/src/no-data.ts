/**
 * @file What `x.data` says. Programs from PyTorch write to it, others take it for the elements; both would find nothing.
 */
import { TesseraError } from '@tessera/shared';

/** @throws invalid-argument */
export function noData(): never {
  throw new TesseraError('invalid-argument', 'Tensors have no .data.', {
    hints: [
      'Without history: x.detach(); to write to it: noGrad(() => x.copy_(y)).',
      'The elements: x.toTypedArray(), or await x.toArray().',
    ],
  });
}
