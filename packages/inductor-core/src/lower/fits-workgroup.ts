/**
 * @file Whether a GPU's workgroup keeps the weights of a recurrence in registers.
 */

/** Threads that every device has in a workgroup. */
const WORKGROUP = 256;
/** Weights that fit into the registers of a thread (255 on NVIDIA's cards), and of a workgroup (65,536), beside the rest. */
const THREAD_WEIGHTS = 192;
const GROUP_WEIGHTS = 40_000;

/** Whether so many products with square weights are few enough; those of others are read at every step. */
export function fitsWorkgroup(terms: number, units: number): boolean {
  if (units > WORKGROUP) return false;
  const rounds = Math.ceil(terms / Math.floor(WORKGROUP / units));
  return rounds * units <= THREAD_WEIGHTS && terms * units * units <= GROUP_WEIGHTS;
}
