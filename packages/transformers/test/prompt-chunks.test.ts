/**
 * @file Which calls take in a prompt: few sizes, and few tokens that only fill up.
 */
import { describe, expect, it } from 'vitest';
import { PromptChunks, filledUp } from '../src/generate/prompt-chunks.js';

/** Sizes of the calls for the tokens from one on. */
function sizes(length: number, { from = 0, chunk = 64, room = 256 } = {}): number[] {
  const chunks = new PromptChunks(chunk, room, (size) => size);
  const calls = [...chunks.calls(from, length)];
  let next = from;
  for (const call of calls) {
    expect(call.from).toBe(next);
    expect(call.takeIn).toBe(call.size);
    next += call.size;
  }
  expect(next).toBeGreaterThanOrEqual(length);
  expect(next).toBeLessThanOrEqual(room);
  return calls.map(({ size }) => size);
}

describe('PromptChunks', () => {
  it('takes in short prompts and rests by quarters', () => {
    expect(sizes(1)).toEqual([16]);
    expect(sizes(16)).toEqual([16]);
    expect(sizes(17)).toEqual([16, 16]);
    expect(sizes(33)).toEqual([64]);
    expect(sizes(64)).toEqual([64]);
    expect(sizes(65)).toEqual([64, 16]);
    expect(sizes(200)).toEqual([64, 64, 64, 16]);
  });

  it('stays inside of the cache where it goes on in the middle', () => {
    expect(sizes(250, { from: 160 })).toEqual([64, 16, 16]);
    expect(sizes(256, { from: 208 })).toEqual([16, 16, 16]);
  });

  it('has one size where quarters would be short', () => {
    expect(sizes(9, { chunk: 8, room: 48 })).toEqual([8, 8]);
    expect(sizes(5, { chunk: 66, room: 66 })).toEqual([66]);
  });

  it('makes the function of a size once', () => {
    let made = 0;
    const chunks = new PromptChunks(64, 256, () => made++);
    for (const length of [5, 70, 200, 31]) expect([...chunks.calls(0, length)]).not.toEqual([]);
    expect(made).toBe(2);
  });

  it('fills up the last call', () => {
    expect(filledUp([1, 2, 3, 4, 5], { from: 3, size: 4 }, 9)).toEqual([4, 5, 9, 9]);
  });
});
