/**
 * @file The row about differentiating gradients of compiled functions.
 */
import { compile, graphBreak } from '@tessera/compile';
import { type Tensor, grad, tensor } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounterWithBackend, assertClose } from '../../src/index.js';

const MESSAGE = /does not currently support double backward/;

/**
 * Three places for a second derivative through what a compiled function computed, each a clear error on every
 * call; the first derivative works. PyTorch ends its graph at each `grad()`: the breaks stand for that. Where
 * nothing ends it, both derivatives are part of the graph, and right.
 */
export function doubleBackwardErrors(): void {
  const body = (x: Tensor): Tensor => x.sin().exp();
  for (const gradOutputs of [tensor(1).requiresGrad_(), null]) {
    const gradient = (y: Tensor, x: Tensor): Tensor =>
      grad(y, x, { createGraph: true, gradOutputs })[0]!;
    const broken = (x: Tensor): Tensor => {
      const y = body(x);
      graphBreak();
      return gradient(y, x);
    };
    const x = tensor(1).requiresGrad_();
    const expected = Math.cos(1) * Math.exp(Math.sin(1));
    const second = (Math.cos(1) ** 2 - Math.sin(1)) * Math.exp(Math.sin(1));

    const counter = new CompileCounterWithBackend('aot_eager');
    // Both derivatives inside.
    const inside = compile(
      (input: Tensor): Tensor => {
        const gx = broken(input);
        grad(gx, input);
        return gx;
      },
      { backend: 'aot_eager' },
    );
    // The second one outside.
    const first = compile(broken, { backend: counter });
    // Both outside.
    const neither = compile(body, { backend: 'aot_eager' });
    for (let call = 0; call < 3; call++) {
      expect(() => inside(x)).toThrow(MESSAGE);

      const gx = first(x);
      assertClose(gx, tensor(expected));
      expect(() => grad(gx, x)).toThrow(MESSAGE);

      const outside = gradient(neither(x), x);
      assertClose(outside, tensor(expected));
      expect(() => grad(outside, x)).toThrow(MESSAGE);

      // No second derivative is asked for.
      assertClose(grad(neither(x), x, { createGraph: false, gradOutputs })[0]!, tensor(expected));
    }

    // The break is there: the gradient is no part of the graph.
    expect(counter.graphs.map((graph) => graph.print().includes('cos'))).toEqual([false]);

    // In one graph, all derivatives are as in eager; that of a result is the first one through what is compiled.
    const whole = compile((input: Tensor): Tensor => gradient(body(input), input), {
      backend: 'aot_eager',
      fullgraph: true,
    });
    const both = compile((input: Tensor): Tensor => grad(whole(input), input)[0]!, {
      backend: 'aot_eager',
      fullgraph: true,
    });
    for (let call = 0; call < 3; call++) {
      assertClose(both(x), tensor(second));
      assertClose(grad(whole(x), x)[0]!, tensor(second));
      expect(() => grad(gradient(whole(x), x), x)).toThrow(MESSAGE);
    }
  }
}
