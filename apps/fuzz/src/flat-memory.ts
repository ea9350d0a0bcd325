/**
 * @file Flat memory as a property: who calls a function again with the same arguments and disposes of what it returned
 * has as many live bytes as before.
 *
 * Programs that keep something grow by themselves. So what grows eagerly as well says nothing, and neither does an
 * argument with a history: one that is changed in place gets a longer one in each call, and compiled code has one
 * node in it for all that a call saves.
 */
import { type Storage, type Tensor, isTensor, liveStorageBytes } from '@tessera/tensor';
import { reclaimNow } from '@tessera/tensor/internal';
import type { World } from './world.js';
import { leafOf } from './leaf-of.js';

/** Live bytes when garbage is gone. */
async function settledBytes(): Promise<number> {
  // A weak reference that was looked at holds its target until the present task ends.
  for (let i = 0; i < 2; i++) {
    await new Promise<void>((done) => setImmediate(done));
    reclaimNow();
  }
  return liveStorageBytes();
}

/** Whether a tensor of the caller has a history, which each call may make longer. */
export function hasHistory(world: World): boolean {
  return [...world.args, ...Object.values(world.captured.tensors)].some((t) => leafOf(t) !== true);
}

/** Memory that the caller still needs. */
function ownStorages(world: World): Set<Storage> {
  const own = [
    ...world.args,
    ...world.leaves,
    ...Object.values(world.captured.tensors),
    ...(world.net === null ? [] : [...world.net.parameters(), ...world.net.buffers()]),
    ...world.blocks.flatMap((block) => block.parameters()),
  ];
  const all = own.flatMap((t) => (isTensor(t.grad) ? [t, t.grad as Tensor] : [t]));
  return new Set(all.map((t) => t.storage));
}

/** How often in a row live bytes must grow to say that calls leave something behind. */
const PARTS = 6;

/**
 * How many bytes are left behind when `call` is made `times` times, over and over: what the calls leave behind
 * grows each time. What grows now and then is a cache, or garbage that the collector has not found yet. Null if a
 * call throws.
 */
export async function growth(
  world: World,
  call: () => Promise<readonly Tensor[] | null>,
  times: number,
): Promise<number | null> {
  const made = async (count: number): Promise<boolean> => {
    for (let i = 0; i < count; i++) {
      const outputs = await call();
      if (outputs === null) return false;
      const own = ownStorages(world);
      for (const t of outputs) if (!own.has(t.storage)) t.dispose();
      world.outputs = [];
    }
    return true;
  };
  if (!(await made(Math.max(2, times >> 2)))) return null;
  const first = await settledBytes();
  let last = first;
  for (let part = 0; part < PARTS; part++) {
    if (!(await made(times))) return null;
    const now = await settledBytes();
    if (now <= last) return 0;
    last = now;
  }
  return Math.round((last - first) / PARTS);
}
