/**
 * @file Generated guard checks and the interpreter for hosts that forbid generated code agree.
 */
import { tensor, track } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { EntryGuards } from '../src/index.js';
import { compileGuards, interpretGuards } from '../src/guards/guard-code.js';

describe('guard checks', () => {
  it('agree on every kind of guard, generated or interpreted', () => {
    const shared = tensor([1, 2]);
    const make = (): Record<string, unknown> => ({
      n: 3,
      zero: 0,
      half: 0.5,
      text: "it's",
      flag: true,
      none: null,
      list: [shared, 1, [2]],
      map: new Map([['a', 1]]),
      module: track({ training: true, weight: shared }),
      many: Array.from({ length: 300 }, (_, i) => i),
    });
    const guards = new EntryGuards([{ name: "L['cfg']", value: make() }]).guards;
    const changes: ((value: Record<string, unknown>) => void)[] = [
      () => undefined,
      (v) => (v.n = 4),
      (v) => (v.zero = -0),
      (v) => (v.half = 0.25),
      (v) => (v.text = 'its'),
      (v) => (v.flag = false),
      (v) => (v.none = undefined),
      (v) => (v.list = [shared, 1]),
      (v) => (v.list = [tensor([1, 2, 3]), 1, [2]]),
      (v) => (v.map = new Map([['a', 2]])),
      (v) => (v.module = track({ training: false, weight: shared })),
      (v) => ((v.many as number[])[299] = -1),
      (v) => delete v.n,
    ];
    const [generated, interpreted] = [compileGuards(guards), interpretGuards(guards)];
    changes.forEach((change, i) => {
      const value = make();
      change(value);
      const results = [generated, interpreted].map((check) => {
        const tensors: unknown[] = [];
        return { holds: check([value], tensors), tensors };
      });
      expect(results[0]!.holds).toBe(i === 0);
      expect(results[1]!.holds).toBe(i === 0);
      if (i === 0) expect(results[0]!.tensors).toEqual(results[1]!.tensors);
    });
  });
});
