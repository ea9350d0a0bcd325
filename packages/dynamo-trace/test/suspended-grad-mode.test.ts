/**
 * @file Grad mode across the waits of a compiled function: what others do meanwhile, and what they leave behind.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Tensor, add, mul, noGrad, setGradEnabled, tensor } from '@tessera/tensor';
import { useAsyncContext } from '../src/suspended/suspended-calls.js';
import { compileEager } from './compile-for-test.js';

const leaf = (): Tensor => tensor([1, 2], { requiresGrad: true });

afterAll(() => useAsyncContext(true));

describe.each([true, false])('while an async call waits (host follows await: %s)', (followed) => {
  it('a caller that writes without gradients takes none from the function', async () => {
    useAsyncContext(followed);
    const w = leaf();
    const fn = async (t: Tensor): Promise<readonly [Tensor, Tensor]> => {
      const y = mul(t, 2);
      await undefined;
      return [y, mul(add(y, t), w)];
    };
    const { call, function: compiled } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      const results = await Promise.all(
        [fn, call].map(async (f) => {
          const t = tensor([1, 2]);
          const started = f(t);
          noGrad(() => t.add_(1));
          const [y, z] = await started;
          return [y.toArray(), z.toArray(), z.requiresGrad];
        }),
      );
      expect(results[1]).toEqual(results[0]);
      expect(results[0]![2]).toBe(true);
    }
    expect(compiled.captures).toHaveLength(1);
  });

  it('a mode that it finds when it goes on holds from there', async () => {
    useAsyncContext(followed);
    const fn = async (t: Tensor): Promise<readonly boolean[]> => {
      const y = mul(t, 2);
      await undefined;
      return [y.requiresGrad, mul(t, 3).requiresGrad];
    };
    const { call } = compileEager(fn);
    for (const after of [true, false, true, false]) {
      const started = call(leaf());
      setGradEnabled(after);
      expect(await started).toEqual([true, after]);
      setGradEnabled(true);
    }
  });
});

describe('a generator', () => {
  it('goes on in the grad mode of who asks for the next item', () => {
    function* fn(t: Tensor): Generator<Tensor> {
      yield mul(t, 2);
      yield mul(t, 3);
      yield mul(t, 4);
    }
    const { call } = compileEager(fn);
    for (let i = 0; i < 3; i++) {
      const items = call(leaf());
      const flags = [
        items.next().value as Tensor,
        noGrad(() => items.next().value as Tensor),
        items.next().value as Tensor,
      ].map((t) => t.requiresGrad);
      expect(flags).toEqual([true, false, true]);
      expect(items.next().done).toBe(true);
    }
  });
});
