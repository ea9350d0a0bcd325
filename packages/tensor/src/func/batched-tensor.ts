/**
 * @file Batched tensors: what a function sees inside `vmap`.
 *
 * A batched tensor looks like one example. It has no memory of its own: it stands for a whole tensor, the
 * *value*, one of whose dimensions is the batch. Values may be batched themselves, by an outer `vmap`. Only the
 * mode that made a batched tensor (vmap-mode.ts) can look behind it. Modelled on functorch's BatchedTensorImpl.
 */
import { TesseraError } from '@tessera/shared';
import { makeTensor } from '../tensor-factory.js';
import type { PendingValue } from '../tensor-base.js';
import type { Tensor } from '../tensor.js';

/** What a batched tensor stands for. */
export class BatchedValue implements PendingValue {
  constructor(
    /** All examples. */
    readonly value: Tensor,
    /** The dimension of `value` that counts examples. */
    readonly dim: number,
    /** The mode of the `vmap` that it belongs to. */
    readonly level: object,
  ) {}

  /** Somebody reads memory: there is none for one example. @throws vmap-data-access */
  resolve(tensor: Tensor): void {
    throw new TesseraError(
      'vmap-data-access',
      `The values of a tensor inside vmap were read: it stands for all ${this.value.sizes[this.dim]!} examples at once.`,
      {
        context: { sizes: tensor.sizes },
        hints: [
          'Return the tensor from the function and read it after vmap.',
          'Replace a decision on values by where(condition, a, b).',
        ],
      },
    );
  }
}

function without<T>(list: readonly T[], at: number): T[] {
  return list.filter((_, i) => i !== at);
}

/** One example of `value`, whose dimension `dim` is the batch. */
export function makeBatched(value: Tensor, dim: number, level: object): Tensor {
  const { dtype, device, sizes, strides } = value;
  const out = makeTensor(null, dtype, device, without(sizes, dim), without(strides, dim));
  out.pending = new BatchedValue(value, dim, level);
  return out;
}

/** What a tensor stands for at a level; null for one that is not batched there. */
export function batchedAt(value: unknown, level: object): BatchedValue | null {
  const pending = (value as Tensor | null | undefined)?.pending;
  return pending instanceof BatchedValue && pending.level === level ? pending : null;
}
