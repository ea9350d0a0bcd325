/**
 * @file The row about a custom `Function` whose gradient is an input.
 */
import { compile } from '@tessera/compile';
import { Function, type FunctionContext, type Tensor, ones } from '@tessera/tensor';
import { expect } from 'vitest';

class PassSecond extends Function {
  static forward(ctx: FunctionContext, x: Tensor, y: Tensor): Tensor {
    ctx.saveForBackward(x);
    return y;
  }

  static backward(ctx: FunctionContext, grad: Tensor): (Tensor | null)[] {
    return [ctx.savedTensors[0]!, grad];
  }
}

/** The gradient of x is x itself: both keep their values when one is modified. */
export function gradientIsInput(): void {
  const x = ones([1]).requiresGrad_();
  const y = ones([1]).requiresGrad_();
  const fn = (a: Tensor, b: Tensor): Tensor => PassSecond.apply(a, b);
  const out = compile(fn, { backend: 'aot_eager' })(x, y);
  out.sum().backward();
  expect([x.grad!.toArray(), y.grad!.toArray()]).toEqual([[1], [1]]);
  out.sum();
  compile(fn, { backend: 'aot_eager' })(x, y).mul(3).sum().backward();
  expect([x.grad!.toArray(), y.grad!.toArray(), x.toArray()]).toEqual([[2], [4], [1]]);
}
