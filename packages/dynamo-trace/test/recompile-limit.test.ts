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

  /** Doubles x until it is large: as many graphs as passes, and one trace for each number of them. */
  function untilLarge(x: Tensor): Tensor {
    let y = x;
    while (y.item() < 1000) y = y.mul(2);
    return y.add(1);
  }

  it('bounds traces whose breaks each allow more', () => {
    warn.mockReturnValue();
    const starts = [500, 250, 100, 60, 30, 10];
    config.patch({ 'trace.recompileLimit': 2, 'trace.accumulatedRecompileLimit': 4 }, () => {
      const { call, function: compiled } = compileEager(untilLarge);
      for (const x of starts)
        expect(call(tensor([x])).toArray()).toEqual(untilLarge(tensor([x])).toArray());
      expect(compiled.captures.length).toBe(4);
      expect(warn.mock.calls).toEqual([
        [expect.stringContaining('untilLarge hit trace.accumulatedRecompileLimit (4)')],
      ]);
    });
  });
});
