/**
 * @file Indexing as people write it: by an index expression, or by a list of tensors as ATen takes it.
 */
import { checkOptionNames } from '@tessera/shared';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { scalarTensor } from '../factory/factory.js';
import { type IndexItem, isTensorList, subscript } from './items.js';
import { onlyMask, putUnderMask } from './masked-put.js';
import {
  type AccumulateOptions,
  type TensorIndices,
  ACCUMULATE,
  indexPutWith,
  indexPutWith_,
  indexWith,
  maskedSelectOp,
} from './indexing.js';
import { alias } from '../view/alias.js';
import { clone, copy_ } from '../arrange/copy.js';
import { add_ } from '../pointwise/arithmetic.js';

/**
 * `self[items]`. Numbers, slices, `'...'` and null give a view; indices and masks a copy.
 *
 * @throws invalid-argument, index-out-of-range, shape-mismatch, dtype-mismatch
 * @example x.index(':', -1)           // x[:, -1]
 * @example x.index('...', null, '::2') // x[..., None, ::2]
 * @example x.index(x.gt(0))            // x[x > 0]; the shape depends on the values
 */
export function index(self: Tensor, ...items: (IndexItem | TensorIndices)[]): Tensor {
  if (items.length === 1 && isTensorList(items[0])) return indexWith(self, items[0]);
  const { view, indices } = subscript(self, items as readonly IndexItem[]);
  if (indices.length > 0) return indexWith(view, indices);
  return view === self ? alias(self) : view;
}

/**
 * A copy of self with `values` written (or added) at the indices.
 *
 * @throws invalid-argument, index-out-of-range, shape-mismatch, dtype-mismatch
 */
export function indexPut(
  self: Tensor,
  items: TensorIndices | readonly IndexItem[],
  values: Tensor | number,
  options?: AccumulateOptions,
): Tensor {
  checkOptionNames('indexPut', options, ACCUMULATE);
  if (isTensorList(items) && isTensor(values) && onlyMask(items) === null)
    return indexPutWith(self, items, values, options?.accumulate);
  return indexPut_(clone(self), items, values, options);
}

/**
 * `self[items] = values`, or `+=` with `accumulate`.
 *
 * @throws invalid-argument, index-out-of-range, shape-mismatch, dtype-mismatch
 * @example x.indexPut_([':', 0], 1)     // x[:, 0] = 1
 * @example x.indexPut_([x.lt(0)], 0)    // x[x < 0] = 0
 */
export function indexPut_(
  self: Tensor,
  items: TensorIndices | readonly IndexItem[],
  values: Tensor | number,
  options?: AccumulateOptions,
): Tensor {
  checkOptionNames('indexPut_', options, ACCUMULATE);
  const accumulate = options?.accumulate ?? false;
  const written = isTensorList(items) ? { view: self, indices: items } : subscript(self, items);
  const { view, indices } = written;
  const source = isTensor(values)
    ? values
    : scalarTensor(values, { dtype: self.dtype, device: self.device });
  const put = putUnderMask(view, indices, source, accumulate);
  if (put !== null) copy_(view, put);
  else if (indices.length > 0) indexPutWith_(view, indices, source, accumulate);
  else if (accumulate) add_(view, source);
  else copy_(view, source);
  return self;
}

/** The elements where a mask holds, as a vector; the shape depends on the values. @throws shape-mismatch */
export function maskedSelect(self: Tensor, mask: Tensor): Tensor {
  return callOp(maskedSelectOp, [self, mask]);
}
