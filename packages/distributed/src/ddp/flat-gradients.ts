/**
 * @file The gradients of a bucket as one run of CPU memory, and back.
 *
 * Gradients have the layout of their parameters, the same on every rank (checked when the model is wrapped), so their
 * memory is copied as it lies.
 */
import { type Tensor, cpuHeap, itemSize, noGrad } from '@tessera/tensor';
import {
  emptyContiguous,
  emptyFromMeta,
  gradientOf,
  gradientStrides,
  obeysLayout,
} from '@tessera/tensor/internal';
import type { GradientBucket } from './buckets.js';

/** Memory in the layout of a parameter's gradient. */
export function inGradientLayout(param: Tensor): Tensor {
  const { sizes, dtype, device } = param;
  return emptyFromMeta({ sizes, dtype, device, strides: gradientStrides(param) });
}

function copyBytes(to: number, from: number, bytes: number): void {
  cpuHeap().u8.copyWithin(to, from, from + bytes);
}

/** Fresh memory with the bucket's gradients divided by `parts`; zeros for parameters without one. */
export function flattenGradients(bucket: GradientBucket, parts: number): Tensor {
  const flat = emptyContiguous([bucket.length], bucket.dtype, 'cpu');
  const width = itemSize(bucket.dtype);
  let to = flat.dataPtr();
  for (const param of bucket.params) {
    const bytes = param.numel * width;
    const grad = gradientOf(param);
    if (grad === null) cpuHeap().u8.fill(0, to, to + bytes);
    else if (obeysLayout(grad, param)) copyBytes(to, grad.dataPtr(), bytes);
    else {
      const own = inGradientLayout(param);
      noGrad(() => own.copy_(grad));
      copyBytes(to, own.dataPtr(), bytes);
      own.dispose();
    }
    to += bytes;
  }
  noGrad(() => flat.mul_(1 / parts));
  return flat;
}

/** Overwrites the gradients of parameters with those in `flat`; `receives` says which. */
export function spreadGradients(
  flat: Tensor,
  bucket: GradientBucket,
  receives: (param: Tensor) => boolean,
): void {
  const width = itemSize(bucket.dtype);
  let from = flat.dataPtr();
  for (const param of bucket.params) {
    const bytes = param.numel * width;
    if (receives(param)) spreadOne(from, bytes, param);
    from += bytes;
  }
}

function spreadOne(from: number, bytes: number, param: Tensor): void {
  const grad = gradientOf(param);
  if (grad !== null && obeysLayout(grad, param)) {
    grad.storage.keepContents();
    copyBytes(grad.dataPtr(), from, bytes);
    grad.storage.version++;
    return;
  }
  const own = inGradientLayout(param);
  copyBytes(own.dataPtr(), from, bytes);
  if (grad === null) param.grad = own;
  else {
    noGrad(() => grad.copy_(own));
    own.dispose();
  }
}
