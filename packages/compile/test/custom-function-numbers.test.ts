/**
 * @file Numbers that the backward of a custom `Function` computes with: a factor that varies, or follows sizes.
 */
import { Function, type FunctionContext, type Tensor, grad, ones } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile, compiledFunctionOf, explain } from '../src/index.js';

it('a custom backward has one code for all factors that its context holds, and that it makes of sizes', () => {
  class Reversed extends Function {
    static forward(ctx: FunctionContext, x: Tensor, scale: number): Tensor {
      ctx.scale = scale;
      return x.clone();
    }
    static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
      const scale = ctx.scale as number;
      return [g.mul(-scale).add(scale).div(Math.sqrt(g.numel)), null];
    }
  }
  const program = (x: Tensor, scale: number): Tensor =>
    grad((Reversed.apply(x, scale) as Tensor).sum(), [x])[0]!;
  const compiled = compile(program);
  for (let i = 0; i < 12; i++) {
    const x = ones([3 + (i % 5)]).requiresGrad_(true);
    for (const scale of [i, i / 7])
      expect(compiled(x, scale).toArray()).toEqual(program(x, scale).toArray());
  }
  expect(compiledFunctionOf(compiled)!.captures.length).toBeLessThanOrEqual(3);
});

it('a custom backward is captured anew where a number decides what its backward does, or of which dtype it is', () => {
  class Choosing extends Function {
    static forward(ctx: FunctionContext, x: Tensor, n: number): Tensor {
      ctx.n = n;
      return x.clone();
    }
    static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
      const n = ctx.n as number;
      const factor = g.gt(0).mul(n);
      return [n > 2 ? g.mul(n) : factor.dtype === 'int64' ? g.add(factor) : g.sub(factor), null];
    }
  }
  const program = (x: Tensor, n: number): Tensor =>
    grad((Choosing.apply(x, n) as Tensor).sum(), [x])[0]!;
  const compiled = compile(program);
  const x = ones([3]).requiresGrad_(true);
  for (const n of [1, 2, 0.5, 1.5, 3, 4, 1, 0.25, 7])
    expect(compiled(x, n).toArray()).toEqual(program(x, n).toArray());
});

it('numbers that stay the same are constants of the code beside one that varies', () => {
  class Cubed extends Function {
    static forward(ctx: FunctionContext, x: Tensor, scale: number): Tensor {
      ctx.saveForBackward(x);
      ctx.scale = scale;
      return x.pow(3);
    }
    static backward(ctx: FunctionContext, g: Tensor): (Tensor | null)[] {
      return [
        ctx.savedTensors[0]!.pow(2)
          .mul(3)
          .mul(g)
          .mul(ctx.scale as number),
        null,
      ];
    }
  }
  const program = (x: Tensor, scale: number): Tensor =>
    grad((Cubed.apply(x, scale) as Tensor).sum(), [x])[0]!;
  const compiled = compile(program);
  const x = ones([3]).mul(1.5).requiresGrad_(true);
  for (const scale of [1, 0.5, 2, 0.25])
    expect(compiled(x, scale).toArray()).toEqual(program(x, scale).toArray());
  expect(compiledFunctionOf(compiled)!.captures.length).toBe(2);
  expect(String(explain(compiled)(x, 3))).toMatch(/attach_function.*\[2, 3, scalar_\d\]\)/);
});
