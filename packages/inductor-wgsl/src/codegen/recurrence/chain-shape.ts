/**
 * @file How a step of a recurrence is divided among workgroups (chain-step.ts).
 */
import { extent, type RecurrenceKernel } from '@tessera/inductor-core';
import { type Size, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import type { WgslTarget } from '../target.js';

/** Threads of a workgroup. */
const THREADS = { gpu: 256, software: 32 };
/** Units of a workgroup: neighbours among its threads read weights of so many in a row, 32 bytes. */
const UNITS = 8;
/** Most rows of a workgroup. */
const MOST_ROWS = 16;
const ELEMENT_BYTES = 4;
/** How a step is divided. */
export interface StepShape {
  /** Units and rows of a workgroup, and threads that share a unit. */
  readonly units: number;
  readonly rows: number;
  readonly members: number;
  readonly threads: number;
  readonly groups: Size;
  /** Elements of workgroup memory that it may take. */
  readonly room: number;
}

/** The shape of a step, where so many recurrences share its launch. */
export function stepShape(
  kernel: RecurrenceKernel<Size>,
  target: WgslTarget,
  sharing: number,
): StepShape {
  const room = Math.floor(target.maxWorkgroupBytes / sharing / ELEMENT_BYTES);
  const width = extent(kernel.n);
  const rows = extent(kernel.batch);
  const most = target.software ? THREADS.software : THREADS.gpu;
  const units = Math.min(width, target.software ? most : UNITS);
  const members = Math.max(1, Math.floor(Math.min(most, target.maxWorkgroupThreads) / units));
  const across = Math.ceil(width / units);
  const sums = kernel.products.length * units;
  // As many rows as leave the device enough workgroups, and each row its sums in workgroup memory.
  let taken = MOST_ROWS;
  const isTooMany = (): boolean =>
    2 * taken * sums > room ||
    taken >= 2 * sizeHint(rows) ||
    2 * across * Math.ceil(sizeHint(rows) / taken) < target.parallelism;
  while (taken > 1 && isTooMany()) taken /= 2;
  const groups = sizeMul(sizeCeilDiv(rows, taken), across);
  return { units, rows: taken, members, threads: units * members, groups, room };
}
