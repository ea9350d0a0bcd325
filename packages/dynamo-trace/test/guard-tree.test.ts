/**
 * @file A tree of guards fails where one of its guards does, with layouts and on hosts that forbid generated code.
 */
import { tensor, track } from '@tessera/tensor';
import { afterEach, describe, expect, it } from 'vitest';
import { EntryGuards, traceConfig } from '../src/index.js';
import { firstFailure } from './compile-for-test.js';

const options = traceConfig as { generateCode: boolean };

const place = (...keys: string[]) => ({
  root: 0,
  source: { root: "L['cfg']", steps: keys.map((key) => ({ kind: 'property', key }) as const) },
});

describe('a tree of guards', () => {
  afterEach(() => {
    options.generateCode = true;
  });

  it.each([true, false])('notices every kind of change, generated code: %s', (generateCode) => {
    options.generateCode = generateCode;
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
    const guards = new EntryGuards([{ name: "L['cfg']", value: make() }]);
    const number = guards.ask(place('module', 'weight'));
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
    changes.forEach((change, i) => {
      const value = make();
      change(value);
      const found = guards.check([value]);
      expect([i, found !== null]).toEqual([i, i === 0]);
      expect(firstFailure(guards, [value]) === null).toBe(i === 0);
      if (i === 0) expect(found![number]).toBe(shared);
    });
  });
});
