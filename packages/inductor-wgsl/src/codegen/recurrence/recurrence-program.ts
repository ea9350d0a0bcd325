/**
 * @file Recurrences as modules: one, or several that divide the workgroups of a launch.
 */
import { extent, type RecurrenceKernel } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import { linearGrid } from '../dispatch.js';
import type { JoinedKernel } from '../scheduled/joined-kernel.js';
import { ProgramBuilder } from '../program.js';
import { RecurrenceGenerator, recurrenceThreads } from './recurrence.js';
import { sideBySide } from '../scheduled/scheduled-program.js';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import type { WgslProgram } from '../wgsl-program.js';

/** Generates a recurrence kernel whose weights registers hold. */
export function generateRecurrence(
  kernel: RecurrenceKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const builder = new ProgramBuilder(kernel, target, variant, new Set());
  const { id, workgroups, hasSurplus } = linearGrid(extent(kernel.batch), target);
  const body = new CodeBlock();
  if (hasSurplus) body.line(`if (${id} >= ${builder.size(extent(kernel.batch))}) { return; }`);
  const generator = new RecurrenceGenerator(kernel, builder);
  generator.emit(body, id);
  const program = builder.finish(recurrenceThreads(kernel, target), body, workgroups);
  return { ...program, schedule: () => generator.facts() };
}

/** Generates recurrences that share a launch; registers hold the weights of each. */
export function generateRecurrences(
  kernel: JoinedKernel,
  parts: readonly RecurrenceKernel<Size>[],
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const builder = new ProgramBuilder(kernel, target, variant, new Set());
  return sideBySide(
    builder,
    recurrenceThreads(parts[0], target),
    parts.map((part) => ({
      groups: extent(part.batch) as number,
      emit: (block, group) => new RecurrenceGenerator(part, builder).emit(block, group),
    })),
  );
}
