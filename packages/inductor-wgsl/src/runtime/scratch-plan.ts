/**
 * @file Scratch memory of a plan: which arena buffers share a GPU buffer.
 *
 * WebGPU cannot bind two ranges of one buffer to a kernel when one of them is written as read-only and
 * the other not, so an arena in one buffer does not work. Instead each arena buffer gets a GPU buffer, and
 * buffers whose lifetimes do not meet share one.
 */
import { TesseraError } from '@tessera/shared';
import { bufferLifetimes, type ExecutionPlan } from '@tessera/inductor-core';
import { deviceItemSize } from '../codegen/wgsl-types.js';
import { sizeClass } from './buffer-pool.js';

/** Assignment of arena buffers to GPU buffers. */
export interface ScratchPlan {
  /** Bytes of each GPU buffer. */
  readonly sizes: readonly number[];
  /** GPU buffer of each plan buffer; -1 for those that are not in the arena. */
  readonly slots: readonly number[];
}

/** Plans scratch memory. */
export function planScratch(
  plan: Pick<ExecutionPlan, 'name' | 'buffers' | 'launches'>,
  f16: boolean,
): ScratchPlan {
  const count = plan.buffers.length;
  for (const [position, launch] of plan.launches.entries()) {
    for (const buffer of launch.buffers)
      if (buffer < 0 || buffer >= count) throw badBuffer(plan, position, buffer);
  }
  const lives = bufferLifetimes(plan);
  const slots = new Array<number>(count).fill(-1);
  const sizes: number[] = [];
  const freeFrom: number[] = [];
  const order = [...plan.buffers.keys()]
    .flatMap((index) => {
      const life = lives[index];
      return plan.buffers[index].source.kind === 'arena' && life !== null
        ? [{ index, ...life }]
        : [];
    })
    .sort((a, b) => a.first - b.first || a.index - b.index);
  const bySize = new Map<number, number[]>();
  for (const { index, first, last } of order) {
    const { numel, dtype } = plan.buffers[index];
    const bytes = sizeClass(numel * deviceItemSize(dtype, f16));
    const candidates = bySize.get(bytes) ?? [];
    bySize.set(bytes, candidates);
    let slot = candidates.find((candidate) => freeFrom[candidate] <= first);
    if (slot === undefined) {
      slot = sizes.length;
      sizes.push(bytes);
      candidates.push(slot);
    }
    freeFrom[slot] = last + 1;
    slots[index] = slot;
  }
  return { sizes, slots };
}

function badBuffer(
  plan: Pick<ExecutionPlan, 'name' | 'buffers'>,
  launch: number,
  buffer: number,
): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `Launch ${launch} of plan '${plan.name}' binds buffer ${buffer}; the plan has ${plan.buffers.length}.`,
    {
      context: { plan: plan.name, launch, buffer },
      hints: [
        'The plan was changed after it was made, or was made by another version of Tessera: compile again.',
      ],
    },
  );
}
