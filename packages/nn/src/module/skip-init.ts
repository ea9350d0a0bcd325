/**
 * @file `skipInit`: a module whose tensors have sizes and types but no memory.
 *
 * Making a module costs as much as its weights, which a checkpoint overwrites at once. Made in here its tensors are
 * fake; `loadStateDict(values, { assign: true })` then puts the checkpoint's tensors in their place. Modelled on
 * `torch.nn.utils.skip_init` and the `meta` device.
 */
import { TesseraError } from '@tessera/shared';
import { withFakeTensors } from '@tessera/tensor/internal';
import { Module } from './module.js';

/**
 * Makes a module without memory for its parameters and buffers: nothing is drawn, nothing allocated. What is not
 * loaded afterwards, with `assign`, stays without values.
 *
 * @throws invalid-argument if `make` gives a promise
 * @example
 * const model = skipInit(() => new Net());
 * model.loadStateDict(await loadCheckpoint('net.safetensors'), { assign: true });
 */
export function skipInit<M extends Module>(make: () => M): M;
/** The same of a class and the arguments of its constructor: `skipInit(Linear, 5, 1)`. @throws invalid-argument */
export function skipInit<M extends Module, A extends readonly unknown[]>(
  module: new (...args: A) => M,
  ...args: A
): M;
export function skipInit<M extends Module>(
  make: (() => M) | ModuleClass<M>,
  ...args: readonly unknown[]
): M {
  if (typeof make !== 'function')
    throw new TesseraError(
      'invalid-argument',
      'skipInit takes a function, or a class of modules.',
      {
        hints: ['Write skipInit(() => new Linear(5, 1)).'],
      },
    );
  const made = withFakeTensors(() => (isClass(make) ? new make(...args) : make()));
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

type ModuleClass<M extends Module> = new (...args: readonly unknown[]) => M;

function isClass<M extends Module>(make: (() => M) | ModuleClass<M>): make is ModuleClass<M> {
  return make.prototype instanceof Module;
}
