/**
 * @file Giving a lazy tensor what was computed for it.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { formatSizes, sameNumbers } from '@tessera/tensor/internal';

/**
 * Gives a lazy tensor the value computed for it; `base`: what it is a view of, undefined if only the value knows.
 *
 * @throws shape-mismatch, dtype-mismatch where that is not what capture found
 */
export function settle(lazy: Tensor, value: Tensor, base: Tensor | null | undefined): void {
  if (!sameNumbers(lazy.sizes, value.sizes) || lazy.dtype !== value.dtype)
    throw unexpected(lazy, value);
  lazy.setStorage(value.storage, value.storageOffset);
  lazy.strides = value.strides;
  const isBase = base === null || base?.storageOrNull === value.storage;
  lazy.base = isBase ? base : value.base;
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
  }
}

function unexpected(lazy: Tensor, value: Tensor): TesseraError {
  const print = ({ dtype, sizes }: Tensor): string => `${dtype} ${formatSizes(sizes)}`;
  return new TesseraError(
    lazy.dtype === value.dtype ? 'shape-mismatch' : 'dtype-mismatch',
    `A compiled graph returned ${print(value)} where ${print(lazy)} was captured.`,
    {
      hints: [
        'The kernel of an operator must return what its meta rule says: library(…).impl(name, "meta", fn).',
        'A backend must return what the graph does.',
      ],
    },
  );
}
