/**
 * @file The loops of a schedule: indices in their terms, and which of them are one.
 */
import { describe, expect, it } from 'vitest';
import { LoopSpace, mergeVariables } from '../src/index.js';
import { modulo, over, plus, times, variable } from '../src/schedule/kernel/places.js';

const [c, h, w] = ['c', 'h', 'w'].map(variable) as [
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
];
const NAMES = ['c', 'h', 'w'];
const space = (): LoopSpace =>
  new LoopSpace([
    { name: 'c', size: 3 },
    { name: 'h', size: 4 },
    { name: 'w', size: 5 },
  ]);
const contiguous = plus(plus(times(c, 20), times(h, 5)), w);

describe('the loops of a kernel', () => {
  it('are one where every index treats them as one', () => {
    const loops = space();
    expect(mergeVariables(loops, NAMES, [contiguous, plus(contiguous, times(w, 0))])).toEqual([
      'w',
    ]);
    expect(loops.size('w')).toBe(60);
    expect(loops.linear(contiguous)).toEqual(loops.linear(w));
  });

  it('stay apart where one index does not', () => {
    const columnsFirst = plus(plus(times(c, 20), times(w, 4)), h);
    expect(mergeVariables(space(), NAMES, [contiguous, columnsFirst])).toEqual(NAMES);
    expect(mergeVariables(space(), NAMES, [contiguous, h])).toEqual(NAMES);
    expect(mergeVariables(space(), NAMES, [contiguous, c])).toEqual(['c', 'w']);
  });

  it('are one inside quotients too', () => {
    expect(mergeVariables(space(), NAMES, [contiguous, over(contiguous, 7)])).toEqual(['w']);
    expect(mergeVariables(space(), NAMES, [contiguous, modulo(plus(times(h, 5), w), 7)])).toEqual([
      'c',
      'w',
    ]);
  });

  it('are not made longer than addresses are', () => {
    const long = new LoopSpace([
      { name: 'a', size: 2 ** 16 },
      { name: 'b', size: 2 ** 16 },
    ]);
    const index = plus(times(variable('a'), 2 ** 16), variable('b'));
    expect(mergeVariables(long, ['a', 'b'], [index])).toEqual(['a', 'b']);
  });

  it('are read in loop indices that are written as values', () => {
    const loops = space();
    mergeVariables(loops, NAMES, [contiguous]);
    const value = { kind: 'index', dtype: 'int32', index: contiguous } as const;
    expect(loops.linear({ kind: 'value', value })).toEqual(loops.linear(w));
  });

  it('make quotients plain that come out even', () => {
    const loops = space();
    const key = (index: typeof w): number => loops.numberOf(loops.linear(index));
    expect(key(over(contiguous, 5))).toBe(key(plus(times(c, 4), h)));
    expect(key(modulo(contiguous, 20))).toBe(key(plus(times(h, 5), w)));
  });
});
