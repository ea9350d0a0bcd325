import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { type TesseraError, isTesseraError } from '@tessera/shared';
import { cpuHeap } from '../src/heap/cpu-heap.js';
import { liveStorageBytes, reclaimNow, withoutForcedCollection } from '../src/memory/reclaim.js';
import { Storage } from '../src/memory/storage.js';
import { loadCheckpoint, serializeSafetensors, zeros } from '../src/index.js';

const MIB = 1024 * 1024;

describe('memory of unreachable storages', () => {
  it('comes back within a synchronous loop that never disposes', () => {
    for (let i = 0; i < 3000; i++) {
      const storage = Storage.allocate('cpu', 2 * MIB);
      cpuHeap().u8[storage.ptr] = 1;
    }
    // 6 GB were allocated: more than the heap can ever hold.
    expect(cpuHeap().stats().committedBytes).toBeLessThan(600 * MIB);
  });

  it('is about 256 MiB at most', () => {
    reclaimNow();
    const before = liveStorageBytes();
    let most = 0;
    for (let i = 0; i < 2000; i++) {
      Storage.allocate('cpu', MIB);
      most = Math.max(most, liveStorageBytes() - before);
    }
    expect(most).toBeLessThan(400 * MIB);
  });

  it('is not looked for while all memory is given back', () => {
    for (let i = 0; i < 8; i++) Storage.allocate('cpu', MIB);
    reclaimNow();
    const before = liveStorageBytes();
    Storage.allocate('cpu', MIB);
    for (let i = 0; i < 500; i++) Storage.allocate('cpu', (2 + (i % 7)) * MIB).free();
    for (let i = 0; i < 60_000; i++) Storage.allocate('cpu', 64).free();
    // More than there is: the heap asks for a sweep before it grows.
    const more = cpuHeap().stats().committedBytes;
    Storage.allocate('cpu', more).free();
    expect(liveStorageBytes() - before).toBe(MIB);
  });

  it('is less than 64 MiB where loading begins', async () => {
    const file = serializeSafetensors({ x: zeros([4]) });
    reclaimNow();
    const before = liveStorageBytes();
    for (let i = 0; i < 80; i++) Storage.allocate('cpu', MIB);
    await loadCheckpoint(file);
    expect(liveStorageBytes() - before).toBeLessThan(64 * MIB);
  });

  it('comes back between tasks after a collection that nobody asked for', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    reclaimNow();
    const before = liveStorageBytes();
    for (let round = 0; round < 2; round++) {
      (() => {
        for (let i = 0; i < 20; i++) Storage.allocate('cpu', MIB);
      })();
      expect(liveStorageBytes()).toBeGreaterThanOrEqual(before + 20 * MIB);
      for (let i = 0; i < 40 && liveStorageBytes() > before; i++) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        collect();
      }
      expect(liveStorageBytes()).toBeLessThanOrEqual(before);
    }
  });

  it('is won back before an allocation fails, and the error names the largest that are left', () => {
    reclaimNow();
    const live = cpuHeap().stats().liveBytes;
    cpuHeap().setBudget(live + 64 * MIB);
    const kept = Storage.allocate('cpu', 40 * MIB);
    for (let i = 0; i < 50; i++) Storage.allocate('cpu', 8 * MIB);
    let caught: unknown;
    try {
      Storage.allocate('cpu', 60 * MIB);
    } catch (error) {
      caught = error;
    }
    cpuHeap().setBudget(Infinity);
    expect(isTesseraError(caught, 'out-of-memory')).toBe(true);
    expect((caught as Error).message).toContain('cpu: 40.0 MiB');
    kept.release();
  });

  it('that may be garbage is told from what is in use where no collection can be forced', () => {
    reclaimNow();
    const held = Array.from({ length: 3 }, () => zeros([MIB]));
    const tooMuch = (): TesseraError => {
      cpuHeap().setBudget(cpuHeap().stats().liveBytes + MIB);
      try {
        zeros([4, MIB]);
      } catch (error) {
        if (isTesseraError(error, 'out-of-memory')) return error;
        throw error;
      } finally {
        cpuHeap().setBudget(Infinity);
      }
      throw new Error('there was room');
    };
    const inUse = tooMuch();
    expect(inUse.message).toContain(`3 × float32[${MIB}] on cpu: 12.0 MiB`);
    expect(inUse.message).not.toContain('collector');
    const mayBeGarbage = withoutForcedCollection(() => {
      for (let i = 0; i < 5; i++) zeros([MIB]);
      return tooMuch();
    });
    expect(mayBeGarbage.message).toMatch(/8 × float32\[1048576\] on cpu: 32\.0 MiB/);
    expect(mayBeGarbage.message).toMatch(
      /Up to \S+ MiB of them, in \d+ tensors, may be garbage that waits/,
    );
    expect(mayBeGarbage.hints[0]).toContain('tidy()');
    expect(mayBeGarbage.context.waitingBytes).toBeGreaterThanOrEqual(20 * MIB);
    for (const tensor of held) tensor.dispose();
  });
});
