/**
 * @file What `explain()` says of a call that ran eagerly beyond a limit.
 */
import { config } from '@tessera/shared';
import { type Tensor, randn } from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compile, explain, reset } from '../src/index.js';
import { explainTree } from '../src/exploration.js';

vi.spyOn(console, 'warn').mockReturnValue();

describe('explain() of a call that ran eagerly', () => {
  afterEach(reset);

  it('beyond trace.recompileLimit: why, and what to do, at each such call', () => {
    let outer = 0;
    const fn = compile((x: Tensor) => {
      let y = x;
      for (let i = 0; i < outer; i++) y = y.add(i).sin();
      return y.sum();
    });
    for (outer = 0; outer < 12; outer++) fn(randn([4]));
    // Replayed and found to fit nothing, or not even tried.
    for (outer of [30, 31, 32, 33]) {
      const told = explain(fn)(randn([4]));
      expect(told.eager?.option).toBe('trace.recompileLimit');
      expect(String(told)).toMatch(
        /^This call ran eagerly.*: anonymous function hit trace\.recompileLimit \(8\) and runs eagerly from where it diverges\. Last reason: .+\n {2}hint: .*raise config trace\.recompileLimit/m,
      );
      expect(explainTree(told)).toContain('this call ran eagerly');
    }
    outer = 2;
    const traced = [1, 2, 3, 4, 5, 6, 7, 8].map(() => explain(fn)(randn([4])).eager);
    expect(traced.at(-1)).toBeNull();
  });

  it('at sizes beyond trace.sizeLimit', () => {
    config.patch({ 'trace.sizeLimit': 2 }, () => {
      const fn = compile((x: Tensor) => x.mul(2).sum(), { backend: 'eager' });
      for (const n of [3, 4, 5, 6]) fn(randn([n]));
      const told = explain(fn)(randn([7]));
      expect(told.eager?.option).toBe('trace.sizeLimit');
      expect(String(told)).toMatch(
        /^This call ran eagerly.*: .*called with many sizes.*code is kept for 2\.\n {2}hint: .*trace\.sizeLimit/m,
      );
      expect(explain(fn)(randn([4])).eager).toBeNull();
    });
  });

  it('says nothing of calls that were traced', () => {
    const told = explain((x: Tensor) => x.add(1))(randn([3]));
    expect(told.eager).toBeNull();
    expect(String(told)).not.toContain('eagerly');
  });
});
