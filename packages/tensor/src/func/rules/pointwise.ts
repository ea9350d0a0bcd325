/**
 * @file Batching of operators on elements: the batch becomes one more dimension to broadcast over.
 */
import { DTYPES } from '../../dtype.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../../ops/arrange/copy.js';
import type { BatchCall, BatchRule } from '../batch-call.js';
import { reshape } from '../../ops/view/view.js';
import { maskedFill } from '../../ops/pointwise/fill.js';
import { where } from '../../ops/pointwise/where.js';
import { mean, sum } from '../../ops/reduction/reduction.js';

/**
 * A single number of an example takes part in type promotion as a number does, though all examples' numbers
 * together are a vector: of one category, the other operands decide.
 */
function promoted(call: BatchCall, tensors: readonly Tensor[]): (tensor: Tensor) => Tensor {
  const rank = Math.max(...tensors.map(({ ndim }) => ndim));
  return (tensor) => {
    const values = call.aligned(tensor, rank);
    if (tensor.ndim > 0 || rank === 0 || !call.isBatched(tensor)) return values;
    const { category } = DTYPES[tensor.dtype];
    const other = tensors.find(
      ({ ndim, dtype }) => ndim > 0 && DTYPES[dtype].category === category,
    );
    return other === undefined || other.dtype === tensor.dtype
      ? values
      : toDtype(values, other.dtype);
  };
}

/** The operator on broadcast values. */
export const pointwise: BatchRule = (call) =>
  call.run(call.mapTensors(promoted(call, call.tensors())));

/** `copy(self, src)`: the result has the shape of the first. */
export const copied: BatchRule<Record<'self' | 'src', Tensor> & { non_blocking: boolean }> = (
  call,
) => {
  const { self, src, non_blocking } = call.named;
  return call.run([call.spread(self), call.aligned(src, self.ndim), non_blocking]);
};

/** `fill.Tensor(self, value)`: the value is a single number of each example. */
export const fillTensor: BatchRule<{ self: Tensor; value: Tensor }> = (call) => {
  const { self, value } = call.named;
  const numbers = call.aligned(value, self.ndim);
  const { sizes } = call.spread(self);
  return numbers.to(self.dtype).expand(sizes).clone();
};

/** `masked_fill.Tensor(self, mask, value)`: the value is a single number of each example. */
export const maskedFillTensor: BatchRule<Record<'self' | 'mask' | 'value', Tensor>> = (call) => {
  const { self, mask, value } = call.named;
  const rank = Math.max(self.ndim, mask.ndim);
  const [values, masks] = [call.aligned(self, rank), call.aligned(mask, rank)];
  if (!call.isBatched(value)) return maskedFill(values, masks, value);
  return where(masks, call.aligned(value, rank).to(self.dtype), values);
};

/** A loss per element that the operator itself reduces: reduced per example. */
export const reducedLoss: BatchRule<{ reduction: number }, Tensor> = (call) => {
  const { reduction } = call.named;
  const [first] = call.tensors();
  const rank = Math.max(...call.tensors().map(({ ndim }) => ndim));
  const whole = (tensor: Tensor): Tensor =>
    tensor === first || tensor.ndim === first!.ndim
      ? reshape(call.spread(tensor), [
          call.size,
          ...Array.from({ length: rank - tensor.ndim }, () => 1),
          ...tensor.sizes,
        ])
      : call.aligned(tensor, rank);
  const losses = call.run(call.replaced(call.mapTensors(whole), { reduction: 0 }));
  if (reduction === 0) return losses;
  if (losses.ndim === 1) return losses;
  const dims = losses.sizes.slice(1).map((_, i) => i + 1);
  return reduction === 1 ? mean(losses, dims) : sum(losses, dims);
};

/** An operator on one tensor that looks at it as elements only: memory formats of more dimensions do not apply. */
export const elementwise: BatchRule = (call) => {
  const args = call.mapTensors((tensor) => call.values(tensor));
  const format = call.op.argIndex.get('memory_format');
  if (format !== undefined && String(args[format]).startsWith('channels_last')) args[format] = null;
  return call.run(args);
};
