/**
 * @file Warming up replays a trace of its own, which fits every time, and leaves nothing open.
 */
import { atOnce } from '@tessera/shared';
import { type Tensor, ones } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { Cursor } from '../src/cursor/cursor.js';
import { warmUp } from '../src/cursor/warm-up.js';
import { isCallOpen } from '../src/frame/frame.js';
import { compileEager } from './compile-for-test.js';

/** A function of `count` operators. */
const sum = (count: number) => (): Tensor => {
  let x = ones([2]);
  for (let i = 1; i < count; i++) x = x.add(1);
  return x;
};

describe('warming up', () => {
  it('takes nothing of the first call of a short function', () => {
    const handled = vi.spyOn(Cursor.prototype, 'handle');
    expect(compileEager(sum(10)).call().toArray()).toEqual([10, 10]);
    expect(handled).toHaveBeenCalledTimes(10);
  });

  it('happens once, after the first long trace is recorded, and matches what it recorded', () => {
    const handled = vi.spyOn(Cursor.prototype, 'handle');
    const diverged = vi.spyOn(Cursor.prototype, 'diverge');
    expect(compileEager(sum(200)).call().toArray()).toEqual([200, 200]);
    expect(diverged).not.toHaveBeenCalled();
    const { length } = handled.mock.calls;
    expect(length).toBeGreaterThan(300);
    expect(isCallOpen()).toBe(false);
    atOnce(warmUp(200));
    expect(handled.mock.calls.length).toBe(length);
  });
});
