/**
 * @file `scheduleThreads`: the schedule of a loop kernel for a machine with groups of threads.
 */
import { type Size, sizeHint } from '@tessera/shared';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import type { ScheduledKernel } from '../kernel/scheduled-kernel.js';
import { columnsTogether } from './columns-together.js';
import { pairedBytes } from './paired-bytes.js';
import { pairedHalves } from './paired-halves.js';
import { choosePackedThreads } from './reduction-threads.js';
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
  const packed = words === kernel ? pairedBytes(kernel) : words;
  if (packed !== kernel) return schedulePacked(packed, target, extent(kernel.inner));
  const paired = target.f16 ? pairedHalves(kernel) : kernel;
  return scheduleReduction(paired, target, undefined, { termsApart: paired !== kernel });
}

/** Sums of so many products with packed weights, of two columns at once where they come in pairs. */
function schedulePacked(
  kernel: LoopKernel<Size>,
  target: ThreadTarget,
  length: Size,
): ScheduledKernel {
  const form = { termsApart: true };
  const together = columnsTogether(kernel);
  if (together === null) return scheduleReduction(kernel, target, undefined, form);
  const { column: spread } = together;
  const outer = together.kernel.outer.filter((loop) => loop !== spread);
  const threads = choosePackedThreads({ ...kernel, outer }, target, sizeHint(length));
  if (threads.innerThreads < spread.size) return scheduleReduction(kernel, target, undefined, form);
  return scheduleReduction(together.kernel, target, threads, { ...form, spread });
}
