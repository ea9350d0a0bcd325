/**
 * @file Ops that make a tensor from no tensor, or of another's shape.
 */
import type { ScalarLike } from '@tessera/shared';
import { defaultDType } from '../default-dtype.js';
import { callOp } from '../dispatch/dispatcher.js';
import type { DType } from '../dtype.js';
import { writeNumbers } from '../kernels/elements.js';
import { scalarValue } from '../kernels/pointwise-kernel.js';
import { defineOp } from '../op/op-overload.js';
import type { NamedArgs, OpRecord, TensorMeta } from '../op/op-record.js';
import { contiguousStrides, numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { formatStrides, type MemoryFormat } from '../memory-format.js';
import { numberType } from '../type-promotion.js';

/** Where and of which type a new tensor is. */
export interface TensorOptions {
  readonly dtype?: DType;
  readonly device?: string;
  readonly requiresGrad?: boolean;
}

const OPTIONS = 'ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None';

function factoryMeta(dtypeOf: (args: NamedArgs) => DType): (args: NamedArgs) => TensorMeta {
  return (args) => ({
    sizes: args.size as number[],
    strides: contiguousStrides(args.size as number[]),
    dtype: (args.dtype as DType | null) ?? dtypeOf(args),
    device: (args.device as string | null) ?? 'cpu',
  });
}

function constantKernel(valueOf: (args: NamedArgs) => number): NonNullable<OpRecord['kernel']> {
  return (args, [out]) => writeNumbers(out!, new Float64Array(numelOf(out!.sizes)).fill(valueOf(args)));
}

function likeMeta(args: NamedArgs): TensorMeta {
  const self = args.self as Tensor;
  return {
    sizes: self.sizes,
    strides: formatStrides(self, args.memory_format as MemoryFormat | null),
    dtype: (args.dtype as DType | null) ?? self.dtype,
    device: (args.device as string | null) ?? self.device,
  };
}

const zerosOp = defineOp(`aten::zeros(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
  tags: ['factory'], meta: factoryMeta(defaultDType), kernel: constantKernel(() => 0),
});
const onesOp = defineOp(`aten::ones(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
  tags: ['factory'], meta: factoryMeta(defaultDType), kernel: constantKernel(() => 1),
});
const fullOp = defineOp(`aten::full(SymInt[] size, Scalar fill_value, *, ${OPTIONS}) -> Tensor`, {
  tags: ['factory'],
  meta: factoryMeta((args) => numberType(args.fill_value as ScalarLike)),
  kernel: constantKernel((args) => scalarValue(args.fill_value as ScalarLike)),
});
const zerosLikeOp = defineOp(`aten::zeros_like(Tensor self, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`, {
  tags: ['non-differentiable'], meta: likeMeta, kernel: constantKernel(() => 0),
});
const onesLikeOp = defineOp(`aten::ones_like(Tensor self, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`, {
  tags: ['non-differentiable'], meta: likeMeta, kernel: constantKernel(() => 1),
});

function finish(tensor: unknown, options: TensorOptions): Tensor {
  const made = tensor as Tensor;
  if (options.requiresGrad === true) made.requiresGrad_();
  return made;
}

function tail(options: TensorOptions): [DType | null, null, string | null, null] {
  return [options.dtype ?? null, null, options.device ?? null, null];
}

/** Zeros of a shape. @see torch.zeros */
export function zeros(size: readonly number[], options: TensorOptions = {}): Tensor {
  return finish(callOp(zerosOp, [size, ...tail(options)]), options);
}

/** Ones of a shape. */
export function ones(size: readonly number[], options: TensorOptions = {}): Tensor {
  return finish(callOp(onesOp, [size, ...tail(options)]), options);
}

/** A shape filled with a number; the dtype follows from the number. */
export function full(size: readonly number[], fillValue: ScalarLike, options: TensorOptions = {}): Tensor {
  return finish(callOp(fullOp, [size, fillValue, ...tail(options)]), options);
}

/** Zeros with the shape, layout, dtype and device of a tensor. */
export function zerosLike(self: Tensor, options: TensorOptions = {}): Tensor {
  return finish(callOp(zerosLikeOp, [self, ...tail(options), null]), options);
}

/** Ones with the shape, layout, dtype and device of a tensor. */
export function onesLike(self: Tensor, options: TensorOptions = {}): Tensor {
  return finish(callOp(onesLikeOp, [self, ...tail(options), null]), options);
}
