/**
 * @file Index expressions in Python's notation, `t.index(':', -1, mask, null)`: what each item means.
 */
import { TesseraError } from '@tessera/shared';
import { tensor } from '../../create.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { isMask } from '../../kernels/advanced-index.js';
import type { TensorIndices } from './indexing.js';
import { unsqueeze } from '../view/dims.js';
import { select, slice } from '../view/slice.js';
import { reshape } from '../view/view.js';
import type { DeviceType } from '../../device.js';

/**
 * One item of an index expression:
 *
 * - a number selects one element of a dimension, which disappears; negative counts from the end
 * - `'a:b:c'` is a slice as in Python, each part optional (`':'`, `'1:'`, `'::2'`)
 * - `'...'` stands for as many whole dimensions as are left
 * - `null` inserts a dimension of size 1
 * - a tensor or array of integers picks elements; one of booleans keeps those where it is true
 */
export type IndexItem =
  number | string | null | boolean | Tensor | readonly number[] | readonly boolean[];

/** An index expression taken apart: a view of the tensor, and tensors to index that with, if any. */
export interface Subscript {
  readonly view: Tensor;
  /** Indices per dimension of the view; empty if the view is the result. */
  readonly indices: TensorIndices;
}

function refuse(message: string): never {
  throw new TesseraError('invalid-argument', `index: ${message}.`, {
    hints: ["Items are numbers, slices like '1:' or '::2', '...', null, tensors and arrays."],
  });
}

const SLICE = /^\s*(-?\d+)?\s*:\s*(-?\d+)?\s*(?::\s*(-?\d+)?\s*)?$/;

function sliceOf(self: Tensor, dim: number, text: string): Tensor {
  const match = SLICE.exec(text);
  if (match === null) refuse(`'${text}' is not a slice`);
  const [start, end, step] = match.slice(1).map((part) => (part ? Number(part) : null));
  if (start == null && end == null && step == null) return self;
  if (step != null && step <= 0) refuse(`the step of '${text}' must be greater than zero`);
  return slice(self, dim, start ?? null, end ?? null, step ?? 1);
}

/** Dimensions that an item takes up. */
function dimsOf(item: IndexItem): number {
  if (item === null || item === '...' || typeof item === 'boolean') return 0;
  return isTensor(item) && isMask(item) ? item.ndim : 1;
}

/** Whether the first item is a list of tensors: ATen's form. */
export function isTensorList(item: unknown): item is TensorIndices {
  return (
    Array.isArray(item) &&
    item.length > 0 &&
    item.every((entry) => entry === null || isTensor(entry))
  );
}

/** Applies an index expression. @throws invalid-argument, index-out-of-range */
export function subscript(self: Tensor, items: readonly IndexItem[]): Subscript {
  if (!isTensor(self) || !Array.isArray(items)) refuse(`${String(items)} is no index`);
  const wanted = items.reduce<number>((total, item) => total + dimsOf(item), 0);
  if (wanted > self.ndim) refuse(`too many indices for tensor of dimension ${self.ndim}`);
  if (items.filter((item) => item === '...').length > 1) refuse("'...' can be used only once");
  let view = self;
  let dim = 0;
  const indices: (Tensor | null)[] = [];
  // A mask is one entry of the list, however many dimensions it takes up.
  let masked = 0;
  const pick = (index: Tensor, dims: number): void => {
    while (indices.length < dim - masked) indices.push(null);
    indices.push(index);
    dim += dims;
    masked += dims - 1;
  };
  for (const item of items) {
    if (item === null) {
      view = unsqueeze(view, dim);
      dim++;
    } else if (item === '...') dim += self.ndim - wanted;
    else if (typeof item === 'number') {
      if (!Number.isInteger(item)) refuse(`${item} is not a whole number`);
      view = select(view, dim, item);
    } else if (typeof item === 'string') view = sliceOf(view, dim++, item);
    else if (typeof item === 'boolean') {
      view = unsqueeze(view, dim);
      pick(tensor([item], { device: self.device }), 1);
    } else if (isTensor(item) && isMask(item) && item.ndim === 0) {
      view = unsqueeze(view, dim);
      pick(reshape(item, [1]), 1);
    } else if (isTensor(item)) pick(item, isMask(item) ? item.ndim : 1);
    else if (Array.isArray(item)) pick(indexTensor(item, self.device), 1);
    else refuse(`${String(item)} is no index`);
  }
  return { view, indices };
}

function indexTensor(values: readonly (number | boolean)[], device: DeviceType): Tensor {
  return values.some((value) => typeof value === 'boolean')
    ? tensor(values, { device })
    : tensor(values, { dtype: 'int64', device });
}
