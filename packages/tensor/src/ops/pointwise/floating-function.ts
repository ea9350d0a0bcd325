/**
 * @file Functions of floating-point elements whose derivative is made of other functions.
 */
import { unary } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';

type Gradient = (grad: Tensor, x: Tensor, y: Tensor) => Tensor;

/** A function whose derivative is one of its argument and, if asked for, of its value. */
export function floatingFunction(
  name: string,
  fn: (x: number) => number,
  gradient: Gradient,
  saved: readonly ('self' | 'out')[] = ['self'],
): OpOverload<Tensor> {
  return defineOp(
    `aten::${name}(Tensor self) -> Tensor`,
    unary(fn, {
      result: 'float',
      saved,
      vjp: ({ self }, { grad, out }) => ({ self: () => gradient(grad, self, out) }),
    }),
  );
}
