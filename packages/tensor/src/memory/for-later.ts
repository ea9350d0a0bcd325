/**
 * @file `forLater`: tensors that a library makes once and keeps, whoever needs them first.
 */
import { noGrad } from '../autograd/grad-mode.js';
import { withoutModes } from '../dispatch/modes.js';
import { withRealTensors } from '../tensor-factory.js';
import { outsideScopes } from './library-scope.js';
import { madeTensors } from './made-tensors.js';
import { beforeAllScopes } from './storage.js';

/** Runs `make` as no part of what is traced, tidied up or released after a backward pass now. */
export function forLater<T>(make: () => T): T {
  const { list } = madeTensors;
  madeTensors.list = null;
  try {
    // Views of it may be made in the scope that is open now.
    return beforeAllScopes(() =>
      outsideScopes(() => withoutModes(() => withRealTensors(() => noGrad(make)))),
    );
  } finally {
    madeTensors.list = list;
  }
}
