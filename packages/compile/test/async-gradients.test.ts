/**
 * @file Calls of one async function that wait for each other while both add to the same gradients.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

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
