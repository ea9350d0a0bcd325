/**
 * @file `scheduleThreads`: the schedule of a loop kernel for a machine with groups of threads.
 */
import type { Size } from '@tessera/shared';
import type { LoopKernel } from '../../ir/kernel.js';
import type { ScheduledKernel } from '../kernel/scheduled-kernel.js';
import { pairedHalves } from './paired-halves.js';
import { schedulePointwise } from './schedule-pointwise.js';
import { scheduleReduction } from './schedule-reduction.js';
import type { ThreadTarget } from './thread-target.js';
import { wholeWords } from './whole-words.js';

/** See the file header. */
export function scheduleThreads(kernel: LoopKernel<Size>, target: ThreadTarget): ScheduledKernel {
  const hasInner = kernel.stages.some((stage) => stage.kind === 'inner');
  if (!hasInner) return schedulePointwise(kernel, target);
  if (target.software) return scheduleReduction(kernel, target);
  const words = wholeWords(kernel);
  const paired = words === kernel && target.f16 ? pairedHalves(kernel) : words;
  return scheduleReduction(paired, target, undefined, paired !== words);
}
