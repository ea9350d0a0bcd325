/**
 * @file The few tensor operations that the engine itself needs, by operator name.
 *
 * The engine lies below the operator files, so it calls operators through the registry.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { DType } from '../dtype.js';
import { type OpOverload, getOp } from '../op/op-overload.js';
import type { ResultOf } from '../op/named-results.js';
import { isDense, hasInternalOverlap, storageExtent } from '../shape.js';
import type { Tensor } from '../tensor.js';
import type { GradMeta } from './grad-node.js';

const cache = new Map<string, OpOverload>();

function op<const Name extends string>(name: Name): OpOverload<ResultOf<Name>>;
function op(name: string): OpOverload {
  let found = cache.get(name);
  if (found === undefined) cache.set(name, (found = getOp(name)));
  return found;
}

/** a + b, in place on `a` if allowed. */
export function addGradients(a: Tensor, b: Tensor, inPlace: boolean): Tensor {
  return callOp(op(inPlace ? 'aten::add_.Tensor' : 'aten::add.Tensor'), [a, b, 1]);
}

/** Zeros of a gradient's shape and type. */
export function zerosOf(meta: GradMeta): Tensor {
  return callOp(op('aten::zeros'), [[...meta.sizes], meta.dtype, null, meta.device, null]);
}

/** Ones like a tensor. */
export function onesLike(tensor: Tensor): Tensor {
  return callOp(op('aten::ones_like'), [tensor, null, null, null, null, null]);
}

/** The i-th tensor of a batch, [B, …] → […]. */
export function exampleOf(batch: Tensor, i: number): Tensor {
  return callOp(op('aten::select.int'), [batch, 0, i]);
}

/** Tensors as a batch, […] → [B, …]. */
export function batchOf(examples: readonly Tensor[]): Tensor {
  return callOp(op('aten::stack'), [examples, 0]);
}

/** Sums broadcast dimensions away. */
export function sumToSize(grad: Tensor, sizes: readonly number[]): Tensor {
  return callOp(op('aten::sum_to_size'), [grad, [...sizes]]);
}

/** Converts a gradient to its input's dtype. */
export function castTo(grad: Tensor, dtype: DType): Tensor {
  return callOp(op('aten::to.dtype'), [grad, dtype, false, false, null]);
}

/** A copy with the strides of a dense tensor; row-major if it is not dense. */
export function inLayoutOf(like: Tensor, value: Tensor): Tensor {
  const { sizes, strides, dtype, device } = like;
  if (!isDense(sizes, strides)) return callOp(op('aten::clone'), [value, 'contiguous']);
  const out = callOp(op('aten::new_empty_strided'), [
    value,
    [...sizes],
    [...strides],
    dtype,
    null,
    device,
    null,
  ]);
  return callOp(op('aten::copy_'), [out, value, false]);
}

/** The same memory without history, set to zero. */
export function zeroDetached(tensor: Tensor): Tensor {
  const detached = callOp(op('aten::detach'), [tensor]);
  return callOp(op('aten::zero_'), [detached]);
}

/** Copy with its own memory. */
export function cloneOf(tensor: Tensor): Tensor {
  return callOp(op('aten::clone'), [tensor, null]);
}

/** Gradient of a base from the gradient of a view of it: zeros elsewhere. */
export function scatterToBase(grad: Tensor, view: Geometry, base: Geometry): Tensor {
  const extent = storageExtent(base.sizes, base.strides);
  const flat = zerosOf({ sizes: [extent], dtype: grad.dtype, device: grad.device });
  const place = { ...view, offset: view.offset - base.offset };
  const written = hasInternalOverlap(view.sizes, view.strides)
    ? addedAt(flat, grad, place)
    : callOp(op('aten::as_strided_scatter'), [
        flat,
        grad,
        place.sizes,
        place.strides,
        place.offset,
      ]);
  return asStrided(written, { ...base, offset: 0 });
}

/** `flat` with gradients added at the elements that a view shows, some of them several times. */
function addedAt(flat: Tensor, grad: Tensor, view: Geometry): Tensor {
  const { device } = flat;
  const numbers = callOp(op('aten::arange'), [flat.numel, 'int64', null, device, null]);
  const positions = callOp(op('aten::reshape'), [asStrided(numbers, view), [-1]]);
  const values = callOp(op('aten::reshape'), [grad, [-1]]);
  return callOp(op('aten::scatter_add'), [flat, 0, positions, values]);
}

/** Reads `grad` (laid out as `base`) through a view's geometry. */
export function gatherFromBase(grad: Tensor, view: Geometry, base: Geometry): Tensor {
  return asStrided(flattenTo(grad, base), { ...view, offset: view.offset - base.offset });
}

/** `grad` with the region of a view replaced. */
export function replaceInBase(grad: Tensor, part: Tensor, view: Geometry, base: Geometry): Tensor {
  const flat = flattenTo(grad, base);
  const written = callOp(op('aten::as_strided_scatter'), [
    flat,
    part,
    view.sizes,
    view.strides,
    view.offset - base.offset,
  ]);
  return asStrided(written, { ...base, offset: 0 });
}

function flattenTo(grad: Tensor, base: Geometry): Tensor {
  const extent = storageExtent(base.sizes, base.strides);
  const flat = zerosOf({ sizes: [extent], dtype: grad.dtype, device: grad.device });
  return callOp(op('aten::as_strided_scatter'), [flat, grad, base.sizes, base.strides, 0]);
}

function asStrided(tensor: Tensor, geometry: Geometry): Tensor {
  return callOp(op('aten::as_strided'), [
    tensor,
    geometry.sizes,
    geometry.strides,
    geometry.offset,
  ]);
}

/** A layout on a storage, in elements. */
export interface Geometry {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Layout of a tensor on its storage. */
export function geometryOf(tensor: Tensor): Geometry {
  return { sizes: tensor.sizes, strides: tensor.strides, offset: tensor.storageOffset };
}
