/**
 * @file Ops that make a tensor of one value: empty, zeros, ones, full.
 */
import { type OptionNames, type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { defaultDType } from '../../default-dtype.js';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DeviceType } from '../../device.js';
import type { DType } from '../../dtype.js';
import { writeNumbers } from '../../kernels/elements.js';
import { checkingFill } from '../../kernels/fill-value.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { NamedArgs, OpRecord, TensorMeta } from '../../op/op-record.js';
import { contiguousStrides, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { formatStrides, type MemoryFormat } from '../../memory-format.js';
import { numberType } from '../../type-promotion.js';

/** Where and of which type a new tensor is. */
export interface TensorOptions {
  readonly dtype?: DType;
  readonly device?: DeviceType;
  readonly requiresGrad?: boolean;
}

/** The tail of every factory schema, behind the dtype. */
export const PLACEMENT = 'Layout? layout=None, Device? device=None, bool? pin_memory=None';

/** The tail of most. */
export const OPTIONS: `ScalarType? dtype=None, ${typeof PLACEMENT}` = `ScalarType? dtype=None, ${PLACEMENT}`;

/** The arguments of `OPTIONS` that matter. */
export interface Placement {
  readonly dtype: DType | null;
  readonly device: DeviceType | null;
}

/** Meta rule of a factory of shape `size`. */
export function factoryMeta<Args extends Placement & { size: readonly number[] }>(
  dtypeOf: (args: Args) => DType,
): (args: Args) => TensorMeta {
  return (args) => ({
    sizes: args.size,
    strides: contiguousStrides(args.size),
    dtype: args.dtype ?? dtypeOf(args),
    device: args.device ?? 'cpu',
  });
}

/** Kernel that fills the result with a number. */
export function constantKernel<Args extends NamedArgs>(
  valueOf: (args: Args) => number,
): NonNullable<OpRecord<Args>['kernel']> {
  return (args, [out]) =>
    writeNumbers(out!, new Float64Array(numelOf(out!.sizes)).fill(valueOf(args)));
}

/** Meta rule of a factory with the shape and layout of `self`. */
export function likeMeta(args: {
  self: Tensor;
  memory_format: MemoryFormat | null;
  dtype: DType | null;
  device: DeviceType | null;
}): TensorMeta {
  const self = args.self;
  return {
    sizes: self.sizes,
    strides: formatStrides(self, args.memory_format),
    dtype: args.dtype ?? self.dtype,
    device: args.device ?? self.device,
  };
}

/** The `fill_value` of a call. */
export function fillValue(args: { fill_value: ScalarLike }): number {
  return scalarValue(args.fill_value);
}

/** Kernel of uninitialised results: freshly allocated memory may hold anything. */
export function leaveUninitialized(): void {}

const emptyOp = defineOp(
  `aten::empty.memory_format(SymInt[] size, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`,
  {
    tags: ['factory', 'uninitialized'],
    meta: factoryMeta(defaultDType),
    kernel: leaveUninitialized,
  },
);
const zerosOp: OpOverload<Tensor> = withOverloads(
  defineOp(`aten::zeros(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
    tags: ['factory'],
    meta: factoryMeta(defaultDType),
    kernel: constantKernel(() => 0),
  }),
  defineOp(`aten::_efficientzerotensor(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
    tags: ['factory'],
    meta: factoryMeta(defaultDType),
    kernel: constantKernel(() => 0),
  }),
);
// A tensor that is known to be zero is one of zeros here.

const onesOp = defineOp(`aten::ones(SymInt[] size, *, ${OPTIONS}) -> Tensor`, {
  tags: ['factory'],
  meta: factoryMeta(defaultDType),
  kernel: constantKernel(() => 1),
});
/** `aten::full`, for graphs. */
export const fullOp: OpOverload<Tensor> = defineOp(
  `aten::full(SymInt[] size, Scalar fill_value, *, ${OPTIONS}) -> Tensor`,
  {
    tags: ['factory'],
    meta: checkingFill(
      'fill_value',
      factoryMeta((args) => numberType(args.fill_value)),
    ),
    kernel: constantKernel(fillValue),
  },
);
const scalarTensorOp = defineOp(`aten::scalar_tensor(Scalar s, *, ${OPTIONS}) -> Tensor`, {
  tags: ['factory'],
  meta: (args) => ({
    sizes: [],
    strides: [],
    dtype: args.dtype ?? defaultDType(),
    device: args.device ?? 'cpu',
  }),
  kernel: constantKernel((args) => scalarValue(args.s)),
});

/** Marks a new tensor as requiring gradients if asked to. */
export function finish(made: Tensor, options: TensorOptions): Tensor {
  if (options.requiresGrad === true) made.requiresGrad_();
  return made;
}

/** What a factory called without options gets. */
export const NO_OPTIONS: TensorOptions = {};

/** The names of `TensorOptions`. */
export const TENSOR_OPTIONS: OptionNames<TensorOptions> = {
  dtype: true,
  device: true,
  requiresGrad: true,
};

/** @throws invalid-argument unless these are options of factories; `names` are those of the factory */
export function checkTensorOptions(
  options: TensorOptions,
  names: Readonly<Record<string, true>> = TENSOR_OPTIONS,
): void {
  // PyTorch's habit, randn(2, 3), and TensorFlow.js's, tensor(values, [2, 3]).
  if (typeof options === 'number' || Array.isArray(options))
    throw new TesseraError('invalid-argument', 'Options are an object.', {
      hints: ['Sizes are a list: randn([2, 3]), tensor(values).view([2, 3]).'],
    });
  checkOptionNames('A new tensor', options, names);
}

/**
 * The `dtype` of a factory's call, after a check of its options; `names` are those of the factory.
 *
 * @throws invalid-argument for options that it does not have
 */
export function checkedDtype(
  options: TensorOptions,
  names: Readonly<Record<string, true>> = TENSOR_OPTIONS,
): DType | null {
  checkTensorOptions(options, names);
  return options.dtype ?? null;
}

/** Uninitialised memory of a shape. @see torch.empty */
export function empty(size: readonly number[], options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(emptyOp, [size, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** Zeros of a shape. @see torch.zeros */
export function zeros(size: readonly number[], options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(zerosOp, [size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** Ones of a shape. */
export function ones(size: readonly number[], options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(onesOp, [size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** A shape filled with a number; the dtype follows from the number. */
export function full(
  size: readonly number[],
  fillWith: ScalarLike,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(fullOp, [size, fillWith, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** A 0-d tensor of a number. */
export function scalarTensor(value: ScalarLike, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(scalarTensorOp, [value, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}
