/**
 * @file `skipInit`: a module whose tensors have sizes and types but no memory.
 *
 * Making a module costs as much as its weights, which a checkpoint overwrites at once. Made in here its tensors are
 * fake; `loadStateDict(values, { assign: true })` then puts the checkpoint's tensors in their place. Modelled on
 * `torch.nn.utils.skip_init` and the `meta` device.
 */
import { TesseraError } from '@tessera/shared';
import { withFakeTensors } from '@tessera/tensor/internal';
import type { Module } from './module.js';

/**
 * Makes a module without memory for its parameters and buffers: nothing is drawn, nothing allocated. What is not
 * loaded afterwards, with `assign`, stays without values.
 *
 * @throws invalid-argument if `make` gives a promise
 * @example
 * const model = skipInit(() => new Net());
 * model.loadStateDict(await loadCheckpoint('net.safetensors'), { assign: true });
 */
export function skipInit<M extends Module>(make: () => M): M {
  const made = withFakeTensors(make);
  if (made instanceof Promise)
    throw new TesseraError(
      'invalid-argument',
      'skipInit() takes a function that makes a module at once.',
      {
        hints: ['Await what the module needs first: skipInit(() => new Net(config)).'],
      },
    );
  return made;
}
