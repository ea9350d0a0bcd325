/**
 * Memory that something beside the program uses outlives the tensors on it.
 */
import { describe, expect, it } from 'vitest';
import { cpuHeap, ones } from '../src/index.js';

describe('Storage.hold', () => {
  it('keeps memory of a disposed tensor from others until it is let go', () => {
    const value = ones([1 << 16]);
    const { storage } = value;
    const address = storage.ptr;
    const letGo = storage.hold();
    const again = storage.hold();
    const { liveBlocks } = cpuHeap().stats();
    value.dispose();
    expect(() => value.toArray()).toThrow(expect.objectContaining({ code: 'use-after-dispose' }));
    const other = ones([1 << 16]);
    expect(other.storage.ptr).not.toBe(address);
    other.dispose();
    expect(cpuHeap().stats().liveBlocks).toBe(liveBlocks);
    letGo();
    letGo();
    expect(cpuHeap().stats().liveBlocks).toBe(liveBlocks);
    again();
    expect(cpuHeap().stats().liveBlocks).toBe(liveBlocks - 1);
  });

  it('changes nothing for memory that is still used', () => {
    const value = ones([4]);
    value.storage.hold()();
    expect(value.toArray()).toEqual([1, 1, 1, 1]);
  });
});
