/**
 * @file `KernelSchedule`: how a backend runs a kernel, for people who look at it: what was chosen before text was made.
 */
import type { ScheduledKernel } from '../schedule/kernel/scheduled-kernel.js';

/** The choices of a generator that makes no scheduled kernel: what each is about, and what was chosen. */
export interface ScheduleFacts {
  /** Name of the kernel. */
  readonly kernel: string;
  /** In the order in which they are shown: `{ 'results of a workgroup': '64 × 64' }`. */
  readonly facts: Readonly<Record<string, string | number>>;
}

/** See the file header. */
export type KernelSchedule = ScheduledKernel | ScheduleFacts;
