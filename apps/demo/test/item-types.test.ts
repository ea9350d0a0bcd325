/**
 * @file `item()` where tensors may be on WebGPU: a number only once it is awaited. Its types are checked with the
 * program's, which does not say that all tensors are on the CPU.
 */
import { ones } from '@tessera/tensor';
import { describe, expect, expectTypeOf, it } from 'vitest';

describe('the type of item()', () => {
  it('is a number once it is awaited', async () => {
    let best = await ones([3]).sum().item();
    expectTypeOf(best).toEqualTypeOf<number>();
    best = Math.min(best, 2);
    expect(best).toBe(2);
  });

  it('allows no arithmetic before', () => {
    const loss = ones([3]).sum();
    // @ts-expect-error it may have to be awaited
    expect(loss.item() * 2).toBe(6);
    // @ts-expect-error it may have to be awaited
    expect(loss.item() < 4).toBe(true);
  });

  it('goes with names of devices that are known', () => {
    // @ts-expect-error no device of that name
    expect(() => ones([1]).to('cuda')).toThrow("'wgpu'");
  });
});
