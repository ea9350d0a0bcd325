/**
 * @file Flat memory: what every call leaves behind is told, and what grows now and then is not.
 */
import { type Tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { growth } from '../src/flat-memory.js';
import { generateProgram } from '../src/generate.js';
import { World } from '../src/world.js';

describe('growth', () => {
  const kept: Tensor[] = [];
  /** Keeps a tensor of 8 elements in the calls that `keeps` says. */
  const calling = async (keeps: (call: number) => boolean): Promise<number | null> => {
    const world = new World(await generateProgram(1, {}));
    let calls = 0;
    return growth(
      world,
      () => {
        const made = zeros([8]);
        if (!keeps(calls++)) return Promise.resolve([made]);
        kept.push(made);
        return Promise.resolve([]);
      },
      30,
    );
  };

  it('is what 30 calls leave behind', async () => {
    expect(await calling(() => true)).toBe(30 * 32);
  });

  it('is none where a few calls keep something', async () => {
    expect(await calling((call) => [10, 25, 40].includes(call))).toBe(0);
  });

  it('is not known where a call throws', async () => {
    const world = new World(await generateProgram(1, {}));
    expect(await growth(world, () => Promise.resolve(null), 30)).toBeNull();
  });
});
