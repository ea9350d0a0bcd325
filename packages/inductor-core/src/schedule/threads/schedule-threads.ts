/**
 * @file `scheduleThreads`: the schedule of a loop kernel for a machine with groups of threads.
 */
import type { Size } from '@tessera/shared';
import type { LoopKernel } from '../../ir/kernel.js';
import type { ScheduledKernel } from '../kernel/scheduled-kernel.js';
import { columnsTogether } from './columns-together.js';
import { pairedHalves } from './paired-halves.js';
import { chooseWordThreads } from './reduction-threads.js';
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
  if (words !== kernel) return scheduleWords(words, target);
  const paired = target.f16 ? pairedHalves(kernel) : kernel;
  return scheduleReduction(paired, target, undefined, { termsApart: paired !== kernel });
}

/** Sums that take whole words, of two columns at once where they come in pairs. */
function scheduleWords(kernel: LoopKernel<Size>, target: ThreadTarget): ScheduledKernel {
  const together = columnsTogether(kernel);
  if (together === null) return scheduleReduction(kernel, target);
  const { column: spread } = together;
  const outer = together.kernel.outer.filter((loop) => loop !== spread);
  const threads = chooseWordThreads({ ...kernel, outer }, target);
  if (threads.innerThreads < spread.size) return scheduleReduction(kernel, target);
  return scheduleReduction(together.kernel, target, threads, { spread });
}
