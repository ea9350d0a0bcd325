/**
 * @file `explain()` of functions that end later.
 */
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

const x = tensor([1, 2]);

describe('explain()', () => {
  it('waits for an async function', async () => {
    const fn = async (t: Tensor): Promise<Tensor> => {
      const sum = await t.mul(2).sum().item();
      return t.add(sum);
    };
    for (const target of [fn, compile(fn, { backend: 'eager' })]) {
      const explanation = await explain(target)(x);
      expect([explanation.graphCount, explanation.graphBreakCount]).toEqual([2, 1]);
      expect(explanation.breakReasons[0]).toMatchObject({ code: 'GB0001' });
      expect(explanation.breakReasons[0]!.location).toContain('explain-async.test.ts');
    }
  });

  it('says that generators run eagerly', () => {
    function* steps(t: Tensor): Generator<Tensor> {
      yield t.mul(2);
      yield t.mul(3);
    }
    async function* asyncSteps(t: Tensor): AsyncGenerator<Tensor> {
      yield t.mul(2);
      await Promise.resolve();
      yield t.mul(3);
    }
    for (const { graphCount, breakReasons } of [explain(steps)(x), explain(asyncSteps)(x)]) {
      expect(graphCount).toBe(0);
      expect(breakReasons).toMatchObject([{ code: 'GB0006' }]);
    }
  });
});
