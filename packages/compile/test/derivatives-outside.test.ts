/**
 * @file Derivatives of derivatives that no one graph holds: the same clear error, or the same result, on every call.
 */
import {
  Function,
  type FunctionContext,
  type Tensor,
  grad,
  hessian,
  jacobian,
  jvp,
  noGrad,
  tensor,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

const BACKENDS = ['eager', 'aot_eager', 'inductor'];

/** What four calls give, as text: results, errors, and the gradient that `x` is left with. */
function outcomes(fn: (x: Tensor) => unknown, after: (result: never) => unknown): string[] {
  return [1, 2, 3, 4].map((first) => {
    const x = tensor([first, 2], { requiresGrad: true });
    try {
      return plain([after(fn(x) as never), x.grad]);
    } catch (error) {
      return (error as { code: string }).code;
    }
  });
}

/** Text of results without the names of backward nodes. */
function plain(value: unknown): string {
  return String(value).replaceAll(/grad_fn=<\w+>/g, 'grad_fn');
}

const same = (result: unknown): unknown => result;

/** A second derivative of `first`, which is differentiable. */
const again = (first: Tensor, x: Tensor): Tensor[] => grad(first.sum(), x);

class Opaque extends Function {
  static forward(ctx: FunctionContext, x: Tensor): Tensor {
    ctx.saveForBackward(x);
    return x.pow(3);
  }
  static backward(ctx: FunctionContext, g: Tensor): Tensor {
    const [x] = ctx.savedTensors;
    return x!.sum().item() > 0 ? g.mul(x!.pow(2)).mul(3) : g;
  }
}

const REFUSED: Record<string, [code: string, fn: (x: Tensor) => unknown]> = {
  'behind a value that was read': [
    'GB0001',
    (x) => {
      const y = x.pow(3).sum();
      y.item();
      return again(grad(y, x, { createGraph: true })[0]!, x);
    },
  ],
  'in a function of hessian that reads a value': [
    'GB0001',
    (x) =>
      hessian((y: Tensor) => {
        const sum = y.pow(3).sum();
        return sum.item() > 5 ? sum.mul(2) : sum;
      }, x),
  ],
  'with a hook on what is asked for': [
    'GB0005',
    (x) => {
      x.registerHook((g) => g.mul(2));
      return again(grad(x.pow(3).sum(), x, { createGraph: true })[0]!, x);
    },
  ],
  'with a hook on the way': [
    'GB0005',
    (x) => {
      const y = x.mul(2);
      y.registerHook((g) => g.mul(2));
      return again(grad(y.pow(3).sum(), x, { createGraph: true })[0]!, x);
    },
  ],
  'through a custom function whose backward reads values': [
    'GB0007',
    (x) => again(grad(Opaque.apply(x).sum(), x, { createGraph: true })[0]!, x),
  ],
  'by backward() into a gradient that exists': [
    'GB0005',
    (x) => {
      x.pow(2).sum().backward();
      x.pow(3).sum().backward(null, { createGraph: true });
      return again(x.grad!, x);
    },
  ],
};

describe.each(BACKENDS)('a second derivative, with %s', (backend) => {
  it.each(Object.entries(REFUSED))('%s is the same error on every call', (_, [, fn]) => {
    expect(outcomes(fn, same)).not.toContain('double-backward-compiled');
    expect(outcomes(compile(fn, { backend }), same)).toEqual(
      Array.from({ length: 4 }, () => 'double-backward-compiled'),
    );
  });
});

describe('the break before such an error', () => {
  it.each(Object.entries(REFUSED))('%s has a code', (_, [code, fn]) => {
    const first = (x: Tensor): null => {
      try {
        fn(x);
      } catch {
        // The breaks are what counts.
      }
      return null;
    };
    const { breakReasons } = explain(first)(tensor([1, 2], { requiresGrad: true }));
    expect(breakReasons.map((reason) => reason.code)).toContain(code);
  });
});

/** Programs that see the leaves which `jacobian` and its kin differentiate by. */
const LEAVES: Record<string, [(x: Tensor) => unknown, after?: (result: never) => unknown]> = {
  'backward() inside': [
    (x) => {
      let slope: Tensor | null = null;
      const rows = jacobian((y: Tensor) => {
        const z = y.pow(2);
        z.sum().backward(null, { retainGraph: true });
        slope = y.grad;
        return z;
      }, x);
      return [rows, slope];
    },
  ],
  'a hook on the leaf': [
    (x) =>
      jacobian((y: Tensor) => {
        y.registerHook((g) => g.mul(2));
        return y.pow(2);
      }, x),
  ],
  'the leaf written to': [
    (x) => [
      jacobian((y: Tensor) => {
        noGrad(() => y.add_(1));
        return y.pow(2);
      }, x),
      x.detach(),
    ],
  ],
  'the leaf and a value of it returned': [
    (x) => {
      const kept: Tensor[] = [];
      hessian((y: Tensor) => {
        const value = y.pow(3).sum();
        kept.push(y, value);
        return value;
      }, x);
      return kept;
    },
    ([leaf, value]: readonly [Tensor, Tensor]) => {
      value.backward();
      return [leaf, leaf.isLeaf, leaf.grad, value];
    },
  ],
  'a leaf that the function ignores': [(x) => jvp((_: Tensor) => x.mul(2), x, tensor([1, 1]))],
  'results that depend on the leaf alone': [
    (x) => jvp((y: Tensor) => y.pow(2), x.detach(), tensor([1, 1]), { createGraph: true }),
    ([value, product]: readonly [Tensor, Tensor]) => {
      product.sum().backward();
      return [value, product];
    },
  ],
  'results that depend on an argument too': [
    (x) => jvp((y: Tensor) => y.pow(2).mul(x), x.detach(), tensor([1, 1]), { createGraph: true }),
    ([value, product]: readonly [Tensor, Tensor]) => {
      product.sum().backward();
      return [value, product];
    },
  ],
};

describe.each(BACKENDS)('leaves of a derivative, with %s', (backend) => {
  it.each(Object.entries(LEAVES))('%s: as in eager, on every call', (_, [fn, after = same]) => {
    expect(outcomes(compile(fn, { backend }), after)).toEqual(outcomes(fn, after));
  });
});
