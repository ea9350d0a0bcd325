import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  cpuHeap,
  keep,
  liveStorageBytes,
  noGrad,
  ones,
  tensor,
  tidy,
  zeros,
} from '../src/index.js';
import { largestStorages, reclaimNow } from '../src/internal.js';

const MIB = 1024 * 1024;

describe('memory', () => {
  it('stays bounded over 100,000 eager operators in one synchronous loop', () => {
    reclaimNow();
    const before = cpuHeap().stats();
    let x = ones([256]);
    noGrad(() => {
      for (let i = 0; i < 50_000; i++) x = x.mul(0.999).add(0.001);
    });
    const after = cpuHeap().stats();
    expect(x.sum().item()).toBeCloseTo(256, 0);
    // 100 MB were allocated in all.
    expect(after.committedBytes - before.committedBytes).toBeLessThanOrEqual(64 * MIB);
    reclaimNow();
    expect(cpuHeap().stats().liveBytes - before.liveBytes).toBeLessThan(MIB);
  });

  it('is returned by dispose and by using, for every tensor that shares it', () => {
    const before = liveStorageBytes();
    const x = zeros([1000]);
    const view = x.narrow(0, 0, 10);
    expect(liveStorageBytes() - before).toBe(4000);
    x.dispose();
    expect(liveStorageBytes()).toBe(before);
    expect(() => view.add(1)).toThrow(/memory was released by dispose\(\), using or tidy\(\)/);
    expect(() => x.toArray()).toThrow(/use-after-dispose/);
    x.dispose();
    {
      using y = zeros([1000]);
      expect(y.numel).toBe(1000);
    }
    expect(liveStorageBytes()).toBe(before);
  });

  it('is returned by tidy, except what it returns or keeps', () => {
    const before = liveStorageBytes();
    let cached: Tensor | null = null;
    const { result } = tidy(() => {
      const a = ones([500]);
      cached = keep(a.mul(2));
      const inner = tidy(() => a.add(1).mul(3));
      return { result: inner.sum() };
    });
    expect(result.item()).toBe(3000);
    expect(liveStorageBytes() - before).toBe(2000 + 4);
    expect(tidy(() => cached!.sum().item())).toBe(1000);
    result.dispose();
    cached!.dispose();
    expect(liveStorageBytes()).toBe(before);
  });

  it('is returned by tidy when its function throws', () => {
    const before = liveStorageBytes();
    expect(() =>
      tidy(() => {
        zeros([100]);
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(liveStorageBytes()).toBe(before);
  });

  it('keeps the gradients that a scope computed', () => {
    const w = tensor([1, 2], { requiresGrad: true });
    tidy(() => {
      w.mul(w).sum().backward();
    });
    expect(w.grad!.toArray()).toEqual([2, 4]);
  });

  it('lists the largest live tensors', () => {
    const big = zeros([300_000]);
    expect(largestStorages(1)[0]!.nbytes).toBeGreaterThanOrEqual(big.storage.nbytes);
    big.dispose();
  });

  it('refuses an allocation beyond the budget and goes on working', () => {
    reclaimNow();
    cpuHeap().setBudget(cpuHeap().stats().liveBytes + 4 * MIB);
    try {
      const held = zeros([512 * 1024]);
      expect(() => zeros([1024 * 1024])).toThrow(/out-of-memory|cannot allocate/);
      expect(held.add(1).select(0, 0).item()).toBe(1);
    } finally {
      cpuHeap().setBudget(Infinity);
    }
    expect(zeros([1024 * 1024]).numel).toBe(1024 * 1024);
  });
});
