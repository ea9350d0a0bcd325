/**
 * @file Calls of one async function that wait for each other while both add to the same gradients.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, compiledFunctionOf, disable, explain } from '../src/index.js';

describe.each(['eager', 'aot_eager', 'inductor'])('a backward after an await (%s)', (backend) => {
  it('adds to a gradient that another call has not computed yet', async () => {
    const f = compile(
      async (x: Tensor) => {
        await undefined;
        const loss = x.sum();
        loss.backward(null, { retainGraph: true });
        x.detach().softplus().copy_(x);
        return loss;
      },
      { backend },
    );
    const x = tensor([1, 2, 3], { requiresGrad: true });
    for (let i = 1; i <= 3; i++) {
      const losses = await Promise.all([f(x), f(x)]);
      expect(losses.map((loss) => loss.item())).toEqual([6, 6]);
      expect(x.grad!.toArray()).toEqual([2 * i, 2 * i, 2 * i]);
    }
  });
});

describe.each(['eager', 'aot_eager', 'inductor'])(
  'a hook that calls the function again (%s)',
  (backend) => {
    it('is no part of the call whose gradients it is given, which waits meanwhile', async () => {
      const run = async (wrap: <F>(fn: F) => F): Promise<unknown[]> => {
        const x = tensor([1, 2, 3], { requiresGrad: true });
        let left = 1;
        const started: Promise<void>[] = [];
        // In a hook gradients are not recorded.
        const differentiate = (loss: Tensor): void => {
          if (loss.requiresGrad) loss.backward();
        };
        const fn = wrap(async (): Promise<void> => {
          differentiate(x.mul(2).sum());
          await undefined;
          x.registerHook(() => {
            if (left-- > 0) started.push(fn());
          });
          await undefined;
          differentiate(x.mul(3).sum());
        });
        await Promise.all([fn(), fn()]);
        await Promise.all(started);
        return x.grad!.toArray() as unknown[];
      };
      const want = await run((fn) => fn);
      expect(
        await run((fn) => compile(fn as () => Promise<void>, { backend }) as typeof fn),
      ).toEqual(want);
    });

    it('is traced behind its own awaits, though it began in code that is not', async () => {
      const x = tensor([1, 2, 3], { requiresGrad: true });
      const later = compile(
        async (y: Tensor): Promise<Tensor> => {
          await undefined;
          return y.mul(2).add(1).sin();
        },
        { backend },
      );
      const started: Promise<Tensor>[] = [];
      x.registerHook((grad) => void started.push(later(grad.detach())));
      const outer = compile(
        disable(() => {
          x.mul(2).sum().backward();
        }),
        { backend },
      );
      outer();
      expect((await started[0]!).toArray()).toEqual(
        tensor([2, 2, 2]).mul(2).add(1).sin().toArray(),
      );
      expect(compiledFunctionOf(later).captures.length).toBe(1);
      // Three operators behind the await, and three again: gradients are recorded here, in the hook they were not.
      expect((await explain(later)(tensor([1, 2, 3]))).opCount).toBe(6);
    });
  },
);
