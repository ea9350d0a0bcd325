/**
 * @file Traces: those of `profile()`, those of strangers.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { profile } from '@tessera/shared';
import { ones } from '@tessera/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import { openDebugFolder } from '../src/debug-folder.js';
import { readTrace } from '../src/read-trace.js';

const scratch = mkdtempSync(join(tmpdir(), 'tessera-trace-'));
afterAll(() => rmSync(scratch, { recursive: true }));

const event = (name: string, ts: number, dur: number): object => ({
  ph: 'X',
  name,
  cat: 'forward',
  ts,
  dur,
});

describe('traces', () => {
  it('are read when they are opened: another file is refused at once', () => {
    const path = join(scratch, 'notes.txt');
    writeFileSync(path, 'no trace');
    expect(() => openDebugFolder(path)).toThrow(
      expect.objectContaining({ code: 'debug-folder-invalid' }),
    );
  });

  it('of profile() are opened as files', () => {
    const { toChromeTrace } = profile(() => ones([3]).mul(2).add(1));
    const path = join(scratch, 'trace.json');
    writeFileSync(path, toChromeTrace());
    const folder = openDebugFolder(path);
    expect(folder.compilations.map(({ name }) => name)).toEqual(['trace.json']);
    const { timeline, captured, output } = folder.compilations[0]!.read();
    expect(timeline.map(({ name }) => name)).toEqual(
      expect.arrayContaining([expect.stringContaining('mul'), expect.stringContaining('add')]),
    );
    expect(timeline[0]!.start).toBe(0);
    expect([captured, output]).toEqual([[], []]);
  });

  it('of other programs are read too: arrays, other kinds of events, no category', () => {
    const other = { ph: 'M', name: 'thread_name' };
    const bare = { ph: 'X', name: 'bare', ts: 7, dur: 1 };
    const { timeline } = readTrace(JSON.stringify([event('b', 9, 2), other, bare]), 'x');
    expect(timeline).toEqual([
      { name: 'bare', category: '', start: 0, duration: 1 },
      { name: 'b', category: 'forward', start: 2, duration: 2 },
    ]);
  });

  it('that are very long show the longest events, in order, and say so', () => {
    const many = Array.from({ length: 6000 }, (_, i) => event(`e${i}`, i * 10, i % 7));
    const { timeline, output } = readTrace(JSON.stringify({ traceEvents: many }), 'x');
    expect(timeline).toHaveLength(5000);
    expect(output).toEqual(['The 5000 longest of 6000 events are shown.']);
    const starts = timeline.map(({ start }) => start);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
  });

  it('that are none are refused, with the place', () => {
    const cases: readonly [unknown, RegExp][] = [
      [{}, /traceEvents should be an array/],
      [[1], /traceEvents\[0\] should be an object/],
      [[{ ...event('a', 0, 1), dur: '1' }], /traceEvents\[0\]\.dur should be a number/],
      [[{ ...event('a', -1, 1) }], /traceEvents\[0\]\.ts/],
      ['text', /an array/],
    ];
    for (const [value, message] of cases)
      expect(() => readTrace(JSON.stringify(value), 'trace.json')).toThrow(
        expect.objectContaining({
          code: 'debug-folder-invalid',
          message: expect.stringMatching(message),
        }),
      );
    expect(() => readTrace('{', 'trace.json')).toThrow(/trace\.json/);
  });
});
