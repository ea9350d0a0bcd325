/**
 * @file Batching of recurrent layers: rows of all examples are rows of one layer, where they share its weights.
 */
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { select } from '../../ops/view/slice.js';
import { movedim } from '../../ops/view/dims.js';
import { expand, reshape } from '../../ops/view/view.js';
import { type BatchCall, type BatchRule, mapResult } from '../batch-call.js';
import { sliced } from './sliced.js';

/** Where the rows of a state [N, H], or of values of all steps [T, N, H], are; -1 for what a kind of cell does not have. */
function rowDim({ ndim }: Tensor): number {
  return ndim - 2;
}

function together(call: BatchCall, tensor: Tensor): Tensor {
  const dim = rowDim(tensor);
  const all = call.spread(tensor);
  if (dim < 0) return select(all, 0, 0);
  const sizes = tensor.sizes.map((size, d) => (d === dim ? size * call.size : size));
  return reshape(movedim(all, 0, dim), sizes);
}

function apart(call: BatchCall, tensor: Tensor): Tensor {
  const dim = rowDim(tensor);
  if (dim < 0) return expand(tensor, [call.size, ...tensor.sizes]);
  const rows = tensor.sizes[dim]! / call.size;
  const sizes = tensor.sizes.flatMap((size, d) => (d === dim ? [call.size, rows] : [size]));
  return movedim(reshape(tensor, sizes), dim, 0);
}

/** `recurrent_layer`, `ctc_alphas` and their backward. Layers with weights of their own run one after the other. */
export const recurrentLayer: BatchRule<Record<string, Tensor | null>> = (call) => {
  const { weight = null, bias = null } = call.named;
  if (call.isBatched(weight) || call.isBatched(bias)) return sliced(call);
  const given = Object.entries(call.named).filter(
    (entry): entry is [string, Tensor] =>
      isTensor(entry[1]) && entry[1] !== weight && entry[1] !== bias,
  );
  const rows = Object.fromEntries(given.map(([name, tensor]) => [name, together(call, tensor)]));
  return mapResult(call.run(call.replaced(call.args, rows)), (tensor) => apart(call, tensor));
};
