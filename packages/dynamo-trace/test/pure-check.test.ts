/**
 * @file `trace.verify`: skipped calls of pure functions that are looked at again.
 */
import { config } from '@tessera/shared';
import { type Tensor, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compileEager } from './compile-for-test.js';

const x = tensor([1, 2]);

/** Calls a pure function, changes something that no guard sees, and calls it thrice more. */
function callsAfter(fn: (x: Tensor) => unknown, change: () => void, every = 2): unknown[] {
  const { call } = compileEager(fn, { pure: true });
  return config.patch({ 'trace.verify': every }, () => {
    call(x);
    change();
    return [1, 2, 3].map(() => {
      try {
        const result: unknown = call(x);
        return Array.isArray(result) ? result[1] : (result as Tensor).toArray();
      } catch (error) {
        return (error as Error).message;
      }
    });
  });
}

describe('trace.verify', () => {
  it('names the op, the constant and the line where a closure changed', () => {
    let k = 2;
    const { call } = compileEager((t: Tensor) => t.mul(k), { pure: true });
    call(x);
    k = 3;
    config.patch({ 'trace.verify': 1 }, () => {
      expect(() => call(x)).toThrow(
        expect.objectContaining({
          code: 'pure-stale',
          message: expect.stringContaining(
            "argument 'other' of aten.mul.Tensor == 2, actual 3",
          ) as string,
          location: expect.stringContaining('pure-check.test.ts') as string,
        }),
      );
    });
  });

  it('looks at one of so many calls, and compiles anew after a difference', () => {
    let k = 2;
    expect(
      callsAfter(
        (t) => t.mul(k),
        () => (k = 3),
      ),
    ).toEqual([[2, 4], expect.stringContaining('would not do what its code does now'), [3, 6]]);
  });

  it('says nothing where nothing changed', () => {
    let runs = 0;
    expect(
      callsAfter(
        (t) => (runs++, t.mul(2)),
        () => {},
        3,
      ),
    ).toEqual([
      [2, 4],
      [2, 4],
      [2, 4],
    ]);
    expect(runs).toBe(2);
  });

  it('notices another tensor in the closure', () => {
    let w = tensor([1, 1]);
    const [message] = callsAfter(
      (t) => t.mul(w),
      () => (w = tensor([2, 2])),
      1,
    );
    expect(message).toContain('another tensor of shape [2] was read from the closure');
  });

  it('tells of another tensor when the call has written what it writes, of another op before', () => {
    let w = tensor([1, 1]);
    let more = false;
    const total = tensor([0, 0]);
    const { call } = compileEager(
      (t: Tensor, to: Tensor) => to.add_(more ? t.mul(w).add(1) : t.mul(w)),
      { pure: true },
    );
    call(x, total);
    config.patch({ 'trace.verify': 1 }, () => {
      more = true;
      expect(() => call(x, total)).toThrow(expect.objectContaining({ code: 'pure-stale' }));
      expect(total.toArray()).toEqual([1, 2]);
      more = false;
      call(x, total);
      w = tensor([2, 2]);
      expect(() => call(x, total)).toThrow(expect.objectContaining({ code: 'pure-stale' }));
      expect(total.toArray()).toEqual([4, 8]);
    });
  });

  it('notices an op more or less', () => {
    let more = true;
    const [message] = callsAfter(
      (t) => (more ? t.mul(2).add(1) : t.mul(2)),
      () => (more = false),
      1,
    );
    expect(message).toContain('the function returned earlier than the recorded call');
  });

  it('notices another result', () => {
    let k = 2;
    const [message] = callsAfter(
      (t) => [t.mul(2), k],
      () => (k = 5),
      1,
    );
    expect(message).toContain('part 1 of the result is 5');
    let first = true;
    const pick = callsAfter(
      (t) => {
        const [a, b] = [t.mul(2), t.add(1)];
        return first ? { a, b } : { a: b, b: a };
      },
      () => (first = false),
      1,
    );
    expect(pick[0]).toContain('part 0 of the result is another tensor');
  });

  it('notices an effect that came later', () => {
    let loud = false;
    const [message] = callsAfter(
      (t) => (loud ? (console.log('called'), t.mul(2)) : t.mul(2)),
      () => (loud = true),
      1,
    );
    expect(message).toContain('console.log()');
  });
});
