/**
 * @file `placeParameters`: how the parameters of one launch are bound, given the memory that they lie in.
 *
 * Mostly each has a binding that begins at its element 0. Slots of slabs are bound with dynamic offsets, so
 * that their bind group serves every slot. A buffer of which one parameter is written and another read has
 * one binding for both, with element offsets.
 */
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import type { KernelVariant } from '../../codegen/variant.js';
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
 * Places the parameters of a kernel. Loops over a few: for a new size it runs once and is not optimised.
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
  const count = memories.length;
  const slots: number[] = [];
  const modes: BindingMode[] = [];
  let next = 0;
  let direct = true;
  for (let i = 0; i < count; i++) {
    let first = 0;
    while (memories[first].place !== memories[i].place) first++;
    modes.push('fixed');
    if (first < i && isWritten(memories[i].place, params, memories)) {
      modes[first] = modes[i] = 'whole';
      slots.push(slots[first]);
      direct = false;
    } else slots.push(next++);
    if (addresses[i] % ALIGNMENT !== 0) direct = false;
  }
  // What is written is another slot in every run; what is read may stay the same.
  let left = dynamicLimit;
  for (let reads = 0; reads < 2; reads++) {
    for (let i = 0; i < count && left > 0; i++) {
      if (memories[i].slab === null || modes[i] !== 'fixed') continue;
      if ((params[i].access === 'read') !== (reads === 1)) continue;
      modes[i] = 'dynamic';
      left--;
    }
  }
  return { variant: { offsets: !direct, slots }, modes };
}

/** Whether a kernel writes a buffer. */
function isWritten(
  place: number,
  params: LaunchedKernel['params'],
  memories: readonly WgpuMemory[],
): boolean {
  for (let i = 0; i < memories.length; i++)
    if (memories[i].place === place && params[i].access !== 'read') return true;
  return false;
}
