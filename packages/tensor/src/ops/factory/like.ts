/**
 * @file Ops that make a tensor of one value with the type and device of another, and its shape or a new one.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { checkingFill } from '../../kernels/fill-value.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, TensorMeta } from '../../op/op-record.js';
import { contiguousStrides } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import {
  OPTIONS,
  type TensorOptions,
  constantKernel,
  fillValue,
  finish,
  leaveUninitialized,
  likeMeta,
  NO_OPTIONS,
  checkedDtype,
} from './factory.js';
import type { DeviceType } from '../../device.js';

/** Meta rule of a factory with a new shape and the type and device of `self`. */
function newMeta(args: {
  self: Tensor;
  size: readonly number[];
  dtype: DType | null;
  device: DeviceType | null;
}): TensorMeta {
  const self = args.self;
  const size = args.size;
  return {
    sizes: size,
    strides: contiguousStrides(size),
    dtype: args.dtype ?? self.dtype,
    device: args.device ?? self.device,
  };
}

/** With arguments of which nothing is known: some of them have a number to fill with. */
type OpenSchema = `${string}(${string}) -> Tensor`;

function defineLike(
  name: string,
  extra: string,
  kernel: (args: { fill_value: ScalarLike }, outs: readonly Tensor[]) => void,
  tags: OpRecord['tags'] = ['non-differentiable'],
): OpOverload<Tensor> {
  const schema: OpenSchema = `aten::${name}_like(Tensor self${extra}, *, ${OPTIONS}, MemoryFormat? memory_format=None) -> Tensor`;
  return defineOp(schema, {
    tags,
    meta: extra === '' ? likeMeta : checkingFill('fill_value', likeMeta),
    kernel,
  });
}

const emptyLikeOp = defineLike('empty', '', leaveUninitialized, [
  'non-differentiable',
  'uninitialized',
]);
const zerosLikeOp = defineLike(
  'zeros',
  '',
  constantKernel(() => 0),
);
const onesLikeOp = defineLike(
  'ones',
  '',
  constantKernel(() => 1),
);
const fullLikeOp = defineLike('full', ', Scalar fill_value', constantKernel(fillValue));

function defineNew(
  name: string,
  extra: string,
  kernel: (args: { fill_value: ScalarLike }, outs: readonly Tensor[]) => void,
  tags: OpRecord['tags'] = ['non-differentiable'],
): OpOverload<Tensor> {
  const schema: OpenSchema = `aten::new_${name}(Tensor self, SymInt[] size${extra}, *, ${OPTIONS}) -> Tensor`;
  return defineOp(schema, {
    tags,
    meta: extra === '' ? newMeta : checkingFill('fill_value', newMeta),
    kernel,
  });
}

const newEmptyOp = defineNew('empty', '', leaveUninitialized, [
  'non-differentiable',
  'uninitialized',
]);
const newZerosOp = defineNew(
  'zeros',
  '',
  constantKernel(() => 0),
);
const newOnesOp = defineNew(
  'ones',
  '',
  constantKernel(() => 1),
);
const newFullOp = defineNew('full', ', Scalar fill_value', constantKernel(fillValue));
defineOp(
  `aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ${OPTIONS}) -> Tensor`,
  {
    tags: ['non-differentiable', 'uninitialized'],
    meta: (args) => ({ ...newMeta(args), strides: args.stride }),
    kernel: leaveUninitialized,
  },
);

/** Uninitialised memory with the shape, layout, dtype and device of a tensor. */
export function emptyLike(self: Tensor, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(emptyLikeOp, [self, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** Zeros with the shape, layout, dtype and device of a tensor. */
export function zerosLike(self: Tensor, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(zerosLikeOp, [self, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** Ones with the shape, layout, dtype and device of a tensor. */
export function onesLike(self: Tensor, options: TensorOptions = NO_OPTIONS): Tensor {
  return finish(
    callOp(onesLikeOp, [self, checkedDtype(options), null, options.device ?? null, null, null]),
    options,
  );
}

/** One number everywhere, with the shape, layout, dtype and device of a tensor. */
export function fullLike(
  self: Tensor,
  fillWith: ScalarLike,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(fullLikeOp, [
      self,
      fillWith,
      checkedDtype(options),
      null,
      options.device ?? null,
      null,
      null,
    ]),
    options,
  );
}

/** Uninitialised memory of another shape with the dtype and device of a tensor. */
export function newEmpty(
  self: Tensor,
  size: readonly number[],
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(newEmptyOp, [self, size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** Zeros of another shape with the dtype and device of a tensor. */
export function newZeros(
  self: Tensor,
  size: readonly number[],
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(newZerosOp, [self, size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** Ones of another shape with the dtype and device of a tensor. */
export function newOnes(
  self: Tensor,
  size: readonly number[],
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(newOnesOp, [self, size, checkedDtype(options), null, options.device ?? null, null]),
    options,
  );
}

/** One number in another shape with the dtype and device of a tensor. */
export function newFull(
  self: Tensor,
  size: readonly number[],
  fillWith: ScalarLike,
  options: TensorOptions = NO_OPTIONS,
): Tensor {
  return finish(
    callOp(newFullOp, [
      self,
      size,
      fillWith,
      checkedDtype(options),
      null,
      options.device ?? null,
      null,
    ]),
    options,
  );
}
