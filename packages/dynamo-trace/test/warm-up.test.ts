/**
 * @file Warming up replays a trace of its own, which fits every time, and leaves nothing open.
 */
import { atOnce } from '@tessera/shared';
import { ones } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { Cursor } from '../src/cursor/cursor.js';
import { warmUp } from '../src/cursor/warm-up.js';
import { isCallOpen } from '../src/frame/frame.js';
import { compileEager } from './compile-for-test.js';

describe('warming up', () => {
  it('happens once, before the first function is recorded, and matches what it recorded', () => {
    const handled = vi.spyOn(Cursor.prototype, 'handle');
    const diverged = vi.spyOn(Cursor.prototype, 'diverge');
    const { call } = compileEager(() => ones([2]).add(1));
    expect(call().toArray()).toEqual([2, 2]);
    expect(diverged).not.toHaveBeenCalled();
    const { length } = handled.mock.calls;
    expect(length).toBeGreaterThan(100);
    expect(isCallOpen()).toBe(false);
    atOnce(warmUp());
    expect(handled.mock.calls.length).toBe(length);
  });
});
