/**
 * @file The reason of a recompilation is what differed, not what else is different.
 */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Tensor, add, mul, noGrad, tensor } from '@tessera/tensor';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);

afterEach(() => vi.restoreAllMocks());

describe('reasons for recompiling', () => {
  it('another function or object is none where only the ops decide', () => {
    const { call, function: compiled } = compileEager((t: Tensor, scale: (t: Tensor) => Tensor) =>
      scale(t),
    );
    call(x, (t) => mul(t, 2));
    call(x, (t) => mul(t, 2));
    expect(compiled.reasons).toEqual([]);
    call(x, (t) => add(t, 2));
    expect(compiled.reasons).toEqual([
      expect.stringMatching(/^expected aten\.mul\.Tensor, got aten\.add\.Tensor/),
    ]);
  });

  it('grad mode is the one of the call, not of the place where it differed', () => {
    let k = 1;
    const w = tensor([1, 2]);
    const { call, function: compiled } = compileEager((t: Tensor) => {
      noGrad(() => w.mul_(k));
      return add(t, w);
    });
    for (const value of [1, 2, 3]) {
      k = value;
      call(x);
    }
    expect(w.toArray()).toEqual([6, 12]);
    expect(compiled.reasons).toEqual(["argument 'other' of aten.mul_.Tensor == 1, actual 2"]);
  });

  it('pure functions have reasons, and the same limit', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const seen: string[] = [];
    const { call, function: compiled } = compileEager((t: Tensor, n: number) => mul(t, n), {
      pure: true,
      guardFailFn: (reason) => seen.push(reason),
    });
    for (let n = 0; n < 20; n++) expect(call(x, n).toArray()).toEqual([n, 2 * n]);
    expect(compiled.captures.length).toBe(8);
    expect(seen.slice(0, 2)).toEqual(["L['n'] == 0", "L['n'] == 1"]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(call(x, 3).toArray()).toEqual([3, 6]);
  });
});
