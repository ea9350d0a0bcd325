/**
 * @file `placeParameters`: how the parameters of one launch are bound, given the memory that they lie in.
 *
 * Mostly each has a binding that begins at its element 0. Slots of slabs are bound with dynamic offsets, so
 * that their bind group serves every slot. A buffer of which one parameter is written and another read has
 * one binding for both, with element offsets.
 */
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import { directVariant, type KernelVariant } from '../../codegen/variant.js';
import { ALIGNMENT, type WgpuMemory } from '../memory/wgpu-memory.js';

/**
 * What of a parameter's address a bind group depends on. `fixed`: all of it. `dynamic`: how far it is from
 * the last place where a dynamic offset may point. `whole`: nothing, as the whole buffer is bound.
 */
export type BindingMode = 'fixed' | 'dynamic' | 'whole';

/** See the file header. */
export interface Placement {
  readonly variant: KernelVariant;
  /** By parameter. */
  readonly modes: readonly BindingMode[];
}

/** Part of an address (bytes from the start of the buffer) that a bind group is made for. */
export function boundPart(mode: BindingMode, address: number): number {
  return mode === 'fixed' ? address : mode === 'dynamic' ? address % ALIGNMENT : 0;
}

/**
 * Places the parameters of a kernel.
 *
 * @param addresses bytes from the start of the buffer to element 0
 * @param dynamicLimit bindings with dynamic offsets that a pipeline may have
 */
export function placeParameters(
  { params }: LaunchedKernel,
  memories: readonly WgpuMemory[],
  addresses: readonly number[],
  dynamicLimit: number,
): Placement {
  const written = new Set(
    memories.filter((_, i) => params[i].access !== 'read').map(({ place }) => place),
  );
  const slots: number[] = [];
  const slotOf = new Map<number, number>();
  const members: number[] = [];
  for (const { place } of memories) {
    let slot = written.has(place) ? slotOf.get(place) : undefined;
    if (slot === undefined) {
      slot = members.push(0) - 1;
      if (written.has(place)) slotOf.set(place, slot);
    }
    members[slot]++;
    slots.push(slot);
  }
  const modes = slots.map((slot): BindingMode => (members[slot] > 1 ? 'whole' : 'fixed'));
  // What is written is another slot in every run; what is read may stay the same.
  const order = [...modes.keys()].sort(
    (a, b) => Number(params[a].access === 'read') - Number(params[b].access === 'read'),
  );
  let left = dynamicLimit;
  for (const i of order) {
    if (left === 0) break;
    if (memories[i].slab === null || modes[i] !== 'fixed') continue;
    modes[i] = 'dynamic';
    left--;
  }
  const direct = modes.every((mode, i) => mode !== 'whole' && addresses[i] % ALIGNMENT === 0);
  return { variant: direct ? directVariant(slots.length) : { offsets: true, slots }, modes };
}
