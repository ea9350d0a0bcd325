/**
 * @file Joining tensors: cat and stack. They take a list, so they are functions only.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readElements, writeNumbers } from '../../kernels/elements.js';
import { channelsLastStrides } from '../../kernels/pointwise-strides.js';
import { suggestsChannelsLast } from '../../kernels/suggest-format.js';
import { defineOp } from '../../op/op-overload.js';
import { contiguousStrides, formatSizes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { unsqueeze } from '../view/dims.js';
import { partOf, sliceView } from '../../kernels/view-geometry.js';
import { narrow } from '../view/slice.js';
import { view } from '../view/view.js';

/** A legacy empty vector takes part in no shape check. */
function isEmptyVector(tensor: Tensor): boolean {
  return tensor.ndim === 1 && tensor.sizes[0] === 0;
}

/** Start of each tensor along the joined dim. */
function starts(tensors: readonly Tensor[], dim: number): number[] {
  let at = 0;
  return tensors.map((tensor) => {
    const start = at;
    at += isEmptyVector(tensor) && dim >= tensor.ndim ? 0 : tensor.sizes[dim]!;
    return start;
  });
}

const catOp = defineOp('aten::cat(Tensor[] tensors, int dim=0) -> Tensor', {
  meta: ({ tensors: list, dim }) => {
    if (list.length === 0)
      throw new TesseraError('invalid-argument', 'cat(): expected a non-empty list of Tensors', {
        hints: ['Pass at least one tensor.'],
      });
    const model = list.find((tensor) => !isEmptyVector(tensor)) ?? list[0]!;
    if (model.ndim === 0)
      throw new TesseraError(
        'shape-mismatch',
        'cat(): zero-dimensional tensor cannot be concatenated',
        { hints: ['Use stack(), or reshape each to [1].'] },
      );
    const at = wrapDim(dim, model.ndim, 'cat');
    const sizes = [...model.sizes];
    sizes[at] = 0;
    for (const tensor of list) {
      if (isEmptyVector(tensor) && model.ndim !== 1) continue;
      if (
        tensor.ndim !== model.ndim ||
        tensor.sizes.some((size, i) => i !== at && size !== model.sizes[i])
      ) {
        throw new TesseraError(
          'shape-mismatch',
          `cat(): Sizes of tensors must match except in dimension ${at}, got ${list.map((x) => formatSizes(x.sizes)).join(' and ')}`,
          {
            context: { shapes: list.map((x) => x.sizes), dim: at },
            hints: ['Only the joined dimension may differ.'],
          },
        );
      }
      sizes[at] += tensor.sizes[at]!;
    }
    const channelsLast = list.every(suggestsChannelsLast);
    return {
      sizes,
      strides: channelsLast ? channelsLastStrides(sizes) : contiguousStrides(sizes),
      dtype: resultType(list),
      device: model.device,
    };
  },
  kernel: ({ tensors: list, dim }, [out]) => {
    const at = wrapDim(dim, out!.ndim);
    const from = starts(list, at);
    list.forEach((tensor, i) => {
      if (tensor.numel === 0) return;
      const part = partOf(out!, sliceView(out!, at, from[i]!, from[i]! + tensor.sizes[at]!, 1));
      writeNumbers(part, readElements(tensor));
    });
  },
  vjp: ({ tensors: list, dim }, { grad }) => {
    const at = wrapDim(dim, grad.ndim);
    const from = starts(list, at);
    return {
      tensors: list.map(
        (tensor, i) => () =>
          isEmptyVector(tensor)
            ? view(narrow(grad, at, 0, 0), [0])
            : narrow(grad, at, from[i]!, tensor.sizes[at]!),
      ),
    };
  },
});

const stackOp = defineOp('aten::stack(Tensor[] tensors, int dim=0) -> Tensor', {
  decompose: ({ tensors: list, dim }) => {
    if (list.length === 0)
      throw new TesseraError('invalid-argument', 'stack expects a non-empty TensorList', {
        hints: ['Pass at least one tensor.'],
      });
    const first = list[0]!;
    const odd = list.find((tensor) => formatSizes(tensor.sizes) !== formatSizes(first.sizes));
    if (odd !== undefined) {
      throw new TesseraError(
        'shape-mismatch',
        `stack expects each tensor to be equal size, but got ${formatSizes(first.sizes)} at entry 0 and ${formatSizes(odd.sizes)} at entry ${list.indexOf(odd)}`,
        { hints: ['Use cat() to join along an existing dimension.'] },
      );
    }
    const at = wrapDim(dim, first.ndim + 1, 'stack');
    if (at === first.ndim)
      return cat(
        list.map((tensor) => unsqueeze(tensor, at)),
        at,
      );
    // The joined dimension is cut, so that images stay channels last.
    return view(cat(list, at), first.sizes.toSpliced(at, 0, list.length));
  },
});

/** Tensors joined along an existing dimension. @throws shape-mismatch, invalid-argument */
export function cat(tensors: readonly Tensor[], dim = 0): Tensor {
  return callOp(catOp, [tensors, dim]);
}

/** Tensors of one shape joined along a new dimension. @throws shape-mismatch, invalid-argument */
export function stack(tensors: readonly Tensor[], dim = 0): Tensor {
  return callOp(stackOp, [tensors, dim]);
}
