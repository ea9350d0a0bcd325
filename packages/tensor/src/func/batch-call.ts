/**
 * @file `BatchCall`: a call of an operator on batched tensors, as a batching rule sees it.
 *
 * A rule computes all examples with operators on the values. It returns tensors whose dimension 0 is the batch,
 * in the structure of the operator's result. Rules run below their `vmap`: what they call is eager, captured, or
 * batched by an outer `vmap`.
 */
import { callOp } from '../dispatch/dispatcher.js';
import type { OpOverload } from '../op/op-overload.js';
import type { NamedArgs } from '../op/op-record.js';
import { wrapDim } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { movedim } from '../ops/view/dims.js';
import { expand, reshape } from '../ops/view/view.js';
import { type BatchedValue, batchedAt } from './batched-tensor.js';

/** A rule for operators with these arguments and results, by whose schemas calls were checked. */
export type BatchRule<Args extends object = NamedArgs, Result = unknown> = {
  rule(call: BatchCall<Args, Result>): unknown;
}['rule'];

/** See the file header. */
export class BatchCall<Args extends object = NamedArgs, Result = unknown> {
  constructor(
    readonly op: OpOverload<Result>,
    readonly args: readonly unknown[],
    /** Number of examples. */
    readonly size: number,
    private readonly level: object,
  ) {}

  /** Arguments by name. */
  get named(): Args {
    return this.op.bind(this.args) as Args;
  }

  /** Whether an argument, or an element of a list of tensors, differs between examples. */
  isBatched(arg: unknown): boolean {
    if (Array.isArray(arg)) return arg.some((item) => this.isBatched(item));
    return batchedAt(arg, this.level) !== null;
  }

  /** What a tensor stands for; null for a shared one. */
  batch(tensor: Tensor): BatchedValue | null {
    return batchedAt(tensor, this.level);
  }

  /** All tensors among the arguments. */
  tensors(): Tensor[] {
    return this.op.tensorArgs.flatMap((i) => {
      const arg = this.args[i];
      return isTensor(arg) ? [arg] : Array.isArray(arg) ? arg.filter(isTensor) : [];
    });
  }

  /** The values of a tensor with the batch in front, `[B, …example]`; of a shared one, the tensor itself. */
  values(tensor: Tensor): Tensor {
    const batched = batchedAt(tensor, this.level);
    if (batched === null) return tensor;
    return batched.dim === 0 ? batched.value : movedim(batched.value, batched.dim, 0);
  }

  /** `[B, …example]` also of a shared tensor, which is repeated without a copy. */
  spread(tensor: Tensor): Tensor {
    if (this.isBatched(tensor)) return this.values(tensor);
    return expand(tensor, [this.size, ...tensor.sizes]);
  }

  /** `[B, 1, …, 1, …example]` with `rank` dimensions after the batch; a shared tensor as it is. */
  aligned(tensor: Tensor, rank: number): Tensor {
    if (!this.isBatched(tensor) || tensor.ndim >= rank) return this.values(tensor);
    const lead = Array.from({ length: rank - tensor.ndim }, () => 1);
    return reshape(this.values(tensor), [this.size, ...lead, ...tensor.sizes]);
  }

  /** The examples of all batches in one dimension, `[B · N, …]`. */
  folded(tensor: Tensor): Tensor {
    return reshape(this.spread(tensor), [this.size * tensor.sizes[0]!, ...tensor.sizes.slice(1)]);
  }

  /** `[B · N, …]` taken apart again. */
  unfolded(tensor: Tensor): Tensor {
    return reshape(tensor, [this.size, tensor.sizes[0]! / this.size, ...tensor.sizes.slice(1)]);
  }

  /** A dimension of an example as one of the values. @throws invalid-dim */
  dim(dim: number, rank: number): number {
    return wrapDim(dim, rank, this.op.schema.name) + 1;
  }

  /** The arguments with tensors, lists of tensors included, replaced. */
  mapTensors(map: (tensor: Tensor) => Tensor): unknown[] {
    return this.args.map((arg, i) => {
      if (!this.op.tensorArgs.includes(i)) return arg;
      if (Array.isArray(arg)) return arg.map((item) => (isTensor(item) ? map(item) : item));
      return isTensor(arg) ? map(arg) : arg;
    });
  }

  /** Arguments with those of these names replaced. */
  replaced(args: readonly unknown[], values: Readonly<Record<string, unknown>>): unknown[] {
    const result = [...args];
    for (const [name, value] of Object.entries(values)) result[this.op.argIndex.get(name)!] = value;
    return result;
  }

  /** Calls the operator on values. */
  run(args: readonly unknown[]): Result {
    return callOp(this.op, args);
  }
}

/** A result with every tensor in it replaced. */
export function mapResult(result: unknown, map: (tensor: Tensor) => unknown): unknown {
  if (isTensor(result)) return map(result);
  return Array.isArray(result) ? result.map((item) => mapResult(item, map)) : result;
}
