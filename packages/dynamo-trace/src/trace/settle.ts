/**
 * @file Giving a lazy tensor what was computed for it.
 */
import type { Tensor } from '@tessera/tensor';
import { AccumulateGrad, checkPromise } from '@tessera/tensor/internal';

/**
 * Gives a lazy tensor the value computed for it.
 *
 * @param base what it is a view of; undefined if only the value knows
 * @param like what stood for it when it was captured
 * @throws shape-mismatch, dtype-mismatch where that is not what capture found
 */
export function settle(
  lazy: Tensor,
  value: Tensor,
  base: Tensor | null | undefined,
  like: Tensor,
): void {
  checkPromise('A compiled graph', value, lazy);
  lazy.setStorage(value.storage, value.storageOffset);
  lazy.strides = value.strides;
  const isBase = base === null || base?.storageOrNull === value.storage;
  lazy.base = isBase ? base : value.base;
  lazy.madeAs = like.madeAs ?? value.madeAs;
  lazy.requiresGradFlag = value.requiresGradFlag;
  lazy.guardSpec = null;
  const history = value.autograd;
  if (history !== null) {
    if (lazy.autograd === null) lazy.autograd = history;
    else {
      lazy.autograd.gradFn = history.gradFn;
      lazy.autograd.outputNr = history.outputNr;
      lazy.autograd.versionAtGradFn = history.versionAtGradFn;
    }
    // A leaf that the program made: its gradients arrive at the tensor that the program has.
    const { accumulator } = history;
    if (history.gradFn === null && accumulator instanceof AccumulateGrad) {
      lazy.autograd.accumulator = accumulator;
      accumulator.leaf = lazy;
    }
  }
}
