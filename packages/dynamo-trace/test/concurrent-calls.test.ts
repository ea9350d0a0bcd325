/**
 * @file Calls of one async compiled function that run at the same time on the same tensors and the same generator.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Tensor, dropout, manualSeed, ones, rand, tensor } from '@tessera/tensor';
import { useAsyncContext } from '../src/suspended/suspended-calls.js';
import { compileEager } from './compile-for-test.js';

afterAll(() => useAsyncContext(true));

describe.each([true, false])('concurrent calls (host follows await: %s)', (followed) => {
  it('draw random numbers in the order of the program, and so does their caller', async () => {
    useAsyncContext(followed);
    const fn = async (t: Tensor): Promise<Tensor> => {
      const dropped = dropout(t, { p: 0.5, training: true });
      await undefined;
      t.zero_();
      return dropped;
    };
    const drawn = async (run: typeof fn): Promise<unknown[]> => {
      manualSeed(11);
      const t = tensor([1, 2, 3, 4]);
      const first = run(t);
      const between = rand([2]);
      const both = await Promise.all([first, run(t)]);
      return [between, ...both].map((value) => value.toArray());
    };
    const { call } = compileEager(fn);
    for (let i = 0; i < 3; i++) expect(await drawn(call)).toEqual(await drawn(fn));
  });

  it('see the history that the others owe their tensors', async () => {
    useAsyncContext(followed);
    const w = ones([2]).requiresGrad_();
    const { call } = compileEager(async (t: Tensor) => [t.sub_(w)]);
    await call(tensor([1, 2]));
    for (let i = 0; i < 3; i++) {
      const t = tensor([1, 2]);
      const [[out]] = await Promise.all([call(t), call(t)]);
      w.grad = null;
      out!.sum().backward();
      expect([out!.toArray(), w.grad!.toArray()]).toEqual([
        [-1, 0],
        [-2, -2],
      ]);
    }
  });
});
