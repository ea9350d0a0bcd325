/**
 * @file Losses warn of a target of another size than the input, once for each place, eager and compiled.
 */
import { type Tensor, ones } from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { functional as F, MSELoss } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

// Losses bind the console when they are loaded.
const warn = vi.hoisted(() => {
  const spy = vi.fn();
  console.warn = spy;
  return spy;
});

const TEXT =
  'Using a target size ([3]) that is different to the input size ([3, 1]). This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.';

describe('a target of another size than the input', () => {
  afterEach(() => warn.mockClear());
  const [x, y] = [ones([3, 1]), ones([3])];

  it.each([
    ['mseLoss', () => F.mseLoss(x, y)],
    ['l1Loss', () => F.l1Loss(x, y)],
    ['smoothL1Loss', () => F.smoothL1Loss(x, y)],
    ['huberLoss', () => F.huberLoss(x, y)],
  ])('is warned about once a place: %s', (_, loss) => {
    for (let i = 0; i < 3; i++) loss();
    expect(warn.mock.calls).toEqual([[expect.stringContaining(TEXT)]]);
  });

  it('says sizes and place, and again at another place', () => {
    for (let i = 0; i < 3; i++) F.mseLoss(x, y);
    F.mseLoss(x, y);
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/target-size\.test\.ts:\d+:\d+/)],
      [expect.stringMatching(/target-size\.test\.ts:\d+:\d+/)],
    ]);
    expect(warn.mock.calls[0]![0]).toContain(TEXT);
  });

  it('is warned about by the module too, at the line that calls it', () => {
    const loss = new MSELoss();
    for (let i = 0; i < 3; i++) loss.call(x, y);
    expect(warn.mock.calls).toEqual([[expect.stringContaining('target-size.test.ts')]]);
  });

  it.each([false, true])('in a compiled function, at capture alone (pure: %s)', (pure) => {
    const step = pure
      ? (a: Tensor, b: Tensor) => F.l1Loss(a, b)
      : (a: Tensor, b: Tensor) => F.mseLoss(a, b);
    const { call } = compileForTest(step, { pure });
    for (let i = 0; i < 3; i++) call(x, y);
    expect(warn.mock.calls).toEqual([[expect.stringContaining(TEXT)]]);
  });

  it('is nothing to warn about where sizes are the same', () => {
    for (const loss of [F.mseLoss, F.l1Loss, F.smoothL1Loss, F.huberLoss]) loss(x, x);
    expect(warn).not.toHaveBeenCalled();
  });
});
