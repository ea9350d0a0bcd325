/**
 * @file Arithmetic on elements: add, sub, mul, div and their kin.
 *
 * Each op is its record and the function that people call; methods on Tensor follow from the
 * functions. Numbers may stand for the second operand and are promoted as PyTorch's wrapped numbers.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { pointwiseKernel, pointwiseMeta } from '../kernels/pointwise-kernel.js';
import { defineInplace } from '../op/inplace.js';
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';

const addOp = defineOp('aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', {
  tags: ['pointwise'],
  meta: pointwiseMeta({ name: 'add' }),
  kernel: (args, outs) => pointwiseKernel((a, b) => a + Number(args.alpha) * b)(args, outs),
  vjp: ({ alpha }, { grad }) => ({ self: grad, other: () => scaled(grad, alpha as ScalarLike) }),
});
const addInplace = defineInplace(addOp);

const subOp = defineOp('aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor', {
  tags: ['pointwise'],
  meta: pointwiseMeta({ name: 'sub' }),
  kernel: (args, outs) => pointwiseKernel((a, b) => a - Number(args.alpha) * b)(args, outs),
  vjp: ({ alpha }, { grad }) => ({ self: grad, other: () => neg(scaled(grad, alpha as ScalarLike)) }),
});
const subInplace = defineInplace(subOp);

const mulOp = defineOp('aten::mul.Tensor(Tensor self, Tensor other) -> Tensor', {
  tags: ['pointwise'],
  meta: pointwiseMeta({ name: 'mul' }),
  kernel: pointwiseKernel((a, b) => a * b),
  saved: ['self', 'other'],
  vjp: ({ self, other }, { grad }) => ({ self: () => mul(grad, other as Tensor), other: () => mul(grad, self as Tensor) }),
});
const mulInplace = defineInplace(mulOp);

const divOp = defineOp('aten::div.Tensor(Tensor self, Tensor other) -> Tensor', {
  tags: ['pointwise'],
  meta: pointwiseMeta({ name: 'div', result: 'float' }),
  kernel: pointwiseKernel((a, b) => a / b),
  saved: ['self', 'other'],
  vjp: ({ self, other }, { grad }) => ({
    self: () => div(grad, other as Tensor),
    other: () => neg(mul(grad, div(div(self as Tensor, other as Tensor), other as Tensor))),
  }),
});
const divInplace = defineInplace(divOp);

const negOp = defineOp('aten::neg(Tensor self) -> Tensor', {
  tags: ['pointwise'],
  meta: pointwiseMeta({ operands: ['self'] }),
  kernel: pointwiseKernel((a) => -a, { operands: ['self'] }),
  vjp: (_args, { grad }) => ({ self: () => neg(grad) }),
});
const negInplace = defineInplace(negOp);

function scaled(grad: Tensor, alpha: ScalarLike): Tensor {
  return alpha === 1 ? grad : (callOp(mulOp, [grad, alpha]) as Tensor);
}

/** self + alpha · other, broadcasting. @throws shape-mismatch @see torch.add */
export function add(self: Tensor, other: Tensor | ScalarLike, options: { alpha?: ScalarLike } = {}): Tensor {
  return callOp(addOp, [self, other, options.alpha ?? 1]) as Tensor;
}

/** self += alpha · other. */
export function add_(self: Tensor, other: Tensor | ScalarLike, options: { alpha?: ScalarLike } = {}): Tensor {
  return callOp(addInplace, [self, other, options.alpha ?? 1]) as Tensor;
}

/** self - alpha · other, broadcasting. @throws shape-mismatch */
export function sub(self: Tensor, other: Tensor | ScalarLike, options: { alpha?: ScalarLike } = {}): Tensor {
  return callOp(subOp, [self, other, options.alpha ?? 1]) as Tensor;
}

/** self -= alpha · other. */
export function sub_(self: Tensor, other: Tensor | ScalarLike, options: { alpha?: ScalarLike } = {}): Tensor {
  return callOp(subInplace, [self, other, options.alpha ?? 1]) as Tensor;
}

/** self · other, broadcasting. @throws shape-mismatch */
export function mul(self: Tensor, other: Tensor | ScalarLike): Tensor {
  return callOp(mulOp, [self, other]) as Tensor;
}

/** self *= other. */
export function mul_(self: Tensor, other: Tensor | ScalarLike): Tensor {
  return callOp(mulInplace, [self, other]) as Tensor;
}

/** self / other, true division: integers give floats. @throws shape-mismatch */
export function div(self: Tensor, other: Tensor | ScalarLike): Tensor {
  return callOp(divOp, [self, other]) as Tensor;
}

/** self /= other. */
export function div_(self: Tensor, other: Tensor | ScalarLike): Tensor {
  return callOp(divInplace, [self, other]) as Tensor;
}

/** -self */
export function neg(self: Tensor): Tensor {
  return callOp(negOp, [self]) as Tensor;
}

/** self = -self */
export function neg_(self: Tensor): Tensor {
  return callOp(negInplace, [self]) as Tensor;
}
