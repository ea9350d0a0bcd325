/**
 * @file A function that is traced too often: eager with a warning, or an error.
 */
import { config } from '@tessera/shared';
import { type Tensor, tensor } from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compileEager } from './compile-for-test.js';

/** x to the power of n by n - 1 products: every n is a path of its own. */
function power(x: Tensor, n: number): Tensor {
  let y = x;
  for (let i = 1; i < n; i++) y = y.mul(x);
  return y.add(0);
}

describe('trace.recompileLimit', () => {
  const x = tensor([2]);
  const warn = vi.spyOn(console, 'warn');
  afterEach(() => warn.mockReset());

  it.each([false, true])('runs eagerly beyond it, with one warning (pure: %s)', (pure) => {
    warn.mockReturnValue();
    config.patch({ 'trace.recompileLimit': 3 }, () => {
      const { call, function: compiled } = compileEager(power, { pure });
      for (let n = 1; n <= 6; n++) expect(call(x, n).toArray()).toEqual([2 ** n]);
      expect(compiled.captures.length).toBe(3);
      expect(warn.mock.calls).toEqual([
        [expect.stringMatching(/^tessera: power hit trace.recompileLimit \(3\) and runs eagerly/)],
      ]);
      // What was traced is still found.
      expect(call(x, 2).toArray()).toEqual([4]);
    });
  });

  it('is an error where nothing may run eagerly', () => {
    config.patch({ 'trace.recompileLimit': 2 }, () => {
      const { call } = compileEager(power, { fullgraph: true });
      expect([1, 2].map((n) => call(x, n).toArray())).toEqual([[2], [4]]);
      const error = expect.objectContaining({
        code: 'trace-recompile-limit',
        message: expect.stringContaining('power hit trace.recompileLimit (2)') as string,
      }) as Error;
      for (let i = 0; i < 2; i++) expect(() => call(x, 5)).toThrow(error);
      expect(call(x, 2).toArray()).toEqual([4]);
    });
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('trace.accumulatedRecompileLimit', () => {
  const warn = vi.spyOn(console, 'warn');
  afterEach(() => warn.mockReset());

  /** Branches behind breaks at several places of the program. */
  function branching(x: Tensor): Tensor {
    const y = x.add(0);
    const one = (Number(y.item()) & 1) > 0 ? y.add(0) : y.mul(1);
    const two = (Number(one.item()) & 2) > 0 ? one.add(0) : one.mul(1);
    const three = (Number(two.item()) & 4) > 0 ? two.add(0) : two.mul(1);
    return (Number(three.item()) & 8) > 0 ? three.add(1) : three.mul(2);
  }

  it('bounds traces whose breaks each allow more', () => {
    warn.mockReturnValue();
    const starts = [0, 1, 2, 4, 8, 15, 7, 0];
    config.patch({ 'trace.recompileLimit': 2, 'trace.accumulatedRecompileLimit': 4 }, () => {
      const { call, function: compiled } = compileEager(branching);
      for (const x of starts)
        expect(call(tensor([x])).toArray()).toEqual(branching(tensor([x])).toArray());
      expect(compiled.captures.length).toBe(4);
      expect(warn.mock.calls).toEqual([
        [expect.stringContaining('branching hit trace.accumulatedRecompileLimit (4)')],
      ]);
    });
  });
});
