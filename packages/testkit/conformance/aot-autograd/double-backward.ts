/**
 * @file The row about differentiating gradients of compiled functions.
 */
import { compile, config } from '@tessera/compile';
import { type Tensor, grad, tensor } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose } from '../../src/index.js';

const MESSAGE = /does not currently support double backward/;

/** Three places for a second derivative, each a clear error; the first derivative works. */
export function doubleBackwardErrors(): void {
  const body = (x: Tensor): Tensor => x.sin().exp();
  for (const gradOutputs of [tensor(1).requiresGrad_(), null]) {
    const first = (x: Tensor): Tensor => grad(body(x), x, { createGraph: true, gradOutputs })[0]!;
    const x = tensor(1).requiresGrad_();
    const expected = Math.cos(1) * Math.exp(Math.sin(1));

    // Both derivatives inside.
    const inside = (input: Tensor): Tensor => {
      const gx = first(input);
      grad(gx, input);
      return gx;
    };
    assertClose(inside(x), tensor(expected));
    expect(() => compile(inside, { backend: 'aot_eager' })(x)).toThrow(MESSAGE);

    // Captured on request, both are part of the graph, whose backward is the third derivative's business.
    config.patch({ 'autograd.captureCreateGraph': true }, () => {
      assertClose(compile(inside, { backend: 'aot_eager' })(x), tensor(expected));
    });

    // The second one outside.
    const gx = compile(first, { backend: 'aot_eager' })(x);
    assertClose(gx, tensor(expected));
    expect(() => grad(gx, x)).toThrow(MESSAGE);

    // Both outside.
    const y = compile(body, { backend: 'aot_eager' })(x);
    const [outside] = grad(y, x, { createGraph: true, gradOutputs });
    assertClose(outside!, tensor(expected));
    expect(() => grad(outside!, x)).toThrow(MESSAGE);

    // No second derivative is asked for.
    const z = compile(body, { backend: 'aot_eager' })(x);
    assertClose(grad(z, x, { createGraph: false, gradOutputs })[0]!, tensor(expected));
  }
}
