/**
 * @file What may be given as the gradient of a root: a tensor, or nothing.
 */
import { TesseraError } from '@tessera/shared';
import { isTensor } from '../tensor-factory.js';

/** Refuses options in the place of a gradient, and other things that are no tensor. @throws invalid-argument */
export function checkGradient(gradient: unknown, call: string): void {
  if (gradient == null || isTensor(gradient)) return;
  const isOptions = typeof gradient === 'object';
  throw new TesseraError(
    'invalid-argument',
    `${call}: gradients are tensors, not ${isOptions ? `{ ${Object.keys(gradient).join(', ')} }` : String(gradient)}.`,
    {
      hints: isOptions
        ? ['Options follow the gradient: backward(null, { retainGraph: true }).']
        : ['Make it a tensor of the shape of the output: tensor(2).'],
    },
  );
}
