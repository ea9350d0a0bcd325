/**
 * @file Flat memory as a property: who calls a function again with the same arguments and disposes of what it returned
 * has as many live bytes as before.
 *
 * Programs that keep something grow by themselves. So what grows eagerly as well says nothing, and neither does an
 * argument with a history: one that is changed in place gets a longer one in each call, and compiled code has one
 * node in it for all that a call saves.
 */
import { type Storage, type Tensor, isTensor, liveStorageBytes, reclaimNow } from '@tessera/tensor';
import type { World } from './world.js';

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
  return [...world.args, ...Object.values(world.captured.tensors)].some((t) => !t.isLeaf);
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

/**
 * Whether live bytes grow while `call` is made `times` times: over each half of them. Null if a call throws.
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
  const half = times >> 1;
  if (!(await made(Math.max(2, half >> 1)))) return null;
  const sizes = [await settledBytes()];
  for (let part = 0; part < 2; part++) {
    if (!(await made(half))) return null;
    sizes.push(await settledBytes());
  }
  const [before, between, after] = sizes as [number, number, number];
  // What grows once is a cache.
  return between > before && after > between ? after - before : 0;
}
