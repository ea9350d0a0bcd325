/**
 * @file Hooks and `retainGrad()` on inputs that recorded operators have used already.
 */
import { type Tensor, grad, ones } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const BACKENDS = ['eager', 'aot_eager', 'inductor'] as const;

describe.each(BACKENDS)('%s', (backend) => {
  it('retains the gradient of the input as it is after an in-place operation', () => {
    const step = compile(
      (x: Tensor) => {
        x.mul_(0.5).retainGrad();
        return x.sum();
      },
      { backend },
    );
    for (let call = 0; call < 3; call++) {
      const x = ones([3]).requiresGrad_().mul(1);
      step(x).backward();
      expect(x.grad!.toArray()).toEqual([1, 1, 1]);
    }
  });

  it('does not give a hook the gradients that were asked for before it was set', () => {
    const step = compile(
      (w: Tensor) => {
        const [before] = grad(w.sum(), [w]);
        w.registerHook((slope) => slope.mul(0.5));
        return before!;
      },
      { backend },
    );
    for (let call = 0; call < 3; call++) {
      const slope = step(ones([3, 4]).requiresGrad_());
      expect([slope.strides, slope.toArray()]).toEqual([[0, 0], ones([3, 4]).toArray()]);
    }
  });

  it.each([true, false])(
    'of a view is led around by a write to its base, set first: %s',
    (first) => {
      const run = (wrap: (fn: (view: Tensor) => Tensor) => typeof fn): unknown => {
        let seen = 0;
        const hook = (): void => void seen++;
        const call = wrap((view) => {
          if (first) view.registerHook(hook);
          const row = view.view([-1]);
          if (!first) view.registerHook(hook);
          return row.mul_(0.5);
        });
        return [0, 1, 2].map(() => {
          const leaf = ones([3]).requiresGrad_();
          const base = leaf.mul(1);
          call(base.slice(0, 0, null, 1))
            .sum()
            .backward();
          return [seen, leaf.grad!.toArray(), base.toArray()];
        });
      };
      expect(run((fn) => compile(fn, { backend }))).toEqual(run((fn) => fn));
    },
  );
});
