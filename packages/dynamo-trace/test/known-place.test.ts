/**
 * @file What is known of steps is known behind each choice of their cases, and there are only so many.
 */
import { SizeSamples } from '@tessera/shared';
import { expect, it } from 'vitest';
import { KnownPlace } from '../src/dynamic/known-place.js';
import type { Frame } from '../src/frame/frame.js';
import type { OpStep, OutSpec } from '../src/trace/step.js';

/** A step whose only argument is its case. */
const STEP = {
  kind: 'op',
  rule: {
    isFollowed: true,
    caseOf: ([of]: readonly unknown[]) => of,
    slots: [],
    divides: false,
    left: [],
  },
} as unknown as OpStep;
const FRAME = { slots: [], shapes: { point: [0, 0] } } as unknown as Frame;

const made = (size: number): OutSpec[] => [
  {
    slot: 0,
    same: false,
    dtype: 'float32',
    device: 'cpu',
    sizes: [size],
    strides: [1],
    offset: 0,
    requiresGrad: false,
  },
];

it('knows of a step what calls in its case, behind the same cases, were told', () => {
  const start = new KnownPlace();
  for (const n of [5, 7, 8, 12]) {
    const inside = start.note(STEP, ['inside'], made(n), FRAME, [0, n])!;
    inside.note(STEP, ['inside'], made(2 * n), FRAME, [0, n]);
    const outside = start.note(STEP, ['outside'], made(n + 1), FRAME, [0, n])!;
    outside.note(STEP, ['inside'], made(3 * n), FRAME, [0, n]);
  }
  const sizeAt = (place: KnownPlace, of: string): number | undefined =>
    place.at(STEP, [of], FRAME, [0, 20])?.outs[0]!.sizes[0];
  const [inside, outside] = ['inside', 'outside'].map(
    (of) => start.at(STEP, [of], FRAME, [0, 20])!.behind.place,
  );
  expect([sizeAt(start, 'inside'), sizeAt(start, 'outside')]).toEqual([20, 21]);
  expect([sizeAt(inside!, 'inside'), sizeAt(outside!, 'inside')]).toEqual([40, 60]);
  expect(sizeAt(inside!, 'outside')).toBeUndefined();
  expect(start.note(STEP, [null], made(3), FRAME, [0, 3])).toBeNull();
});

it('keeps no more places than it has room for, and goes on knowing those', () => {
  const start = new KnownPlace({ room: 3, samples: new SizeSamples(), unknown: new Set() });
  const note = (of: string): KnownPlace | null => start.note(STEP, [of], made(3), FRAME, [0, 3]);
  const found = ['a', 'b', 'c', 'd'].map(note);
  expect(found.map((place) => place !== null)).toEqual([true, true, true, false]);
  expect([note('a'), found[1]!.note(STEP, ['a'], made(3), FRAME, [0, 3])]).toEqual([
    found[0],
    null,
  ]);
});

it('asks nothing of the numbers of results that are there already', () => {
  const place = new KnownPlace();
  const written = (offset: number): OutSpec[] => [{ ...made(4)[0]!, same: true, offset }];
  const lengths = [5, 7, 8, 12];
  // No polynomial of the size: some are above it, some below.
  const offsets = [3, 90, 1, 60];
  lengths.forEach((n, i) => place.note(STEP, ['in'], written(offsets[i]!), FRAME, [0, n]));
  const found = place.at(STEP, ['in'], FRAME, [0, 20])!;
  expect(found.outs).toEqual(written(3));
});
