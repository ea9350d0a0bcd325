/**
 * @file A plan as text: its launches in order, where their buffers lie, and what memory that takes.
 */
import { shortDtype } from '@tessera/graph';
import { itemSize } from '@tessera/tensor';
import type { BufferSource, ExecutionPlan, PlanBuffer } from './execution-plan.js';

function placeOf(source: BufferSource): string {
  return source.kind === 'arena' ? `arena+${source.offset}` : `${source.kind} ${source.index}`;
}

function printBuffer({ name, dtype, numel, source }: PlanBuffer): string {
  return `${name}: ${shortDtype(dtype)}[${numel}] at ${placeOf(source)}`;
}

/** The order of kernels and the memory plan; offsets and sizes of the arena in bytes. */
export function printPlan(plan: ExecutionPlan): string {
  const { name, device, launches, kernels, buffers, arenaBytes } = plan;
  const scratch = buffers.filter(({ source }) => source.kind === 'arena');
  const apart = scratch.reduce((total, { numel, dtype }) => total + numel * itemSize(dtype), 0);
  return [
    `plan ${name} on ${device}: ${launches.length} launch(es), arena of ${arenaBytes} bytes (${apart} without reuse)`,
    ...buffers.map((buffer) => `  ${printBuffer(buffer)}`),
    ...launches.map(
      (launch, i) =>
        `  ${i}: ${kernels[launch.kernel]!.name}(${launch.buffers.map((b) => buffers[b]!.name).join(', ')})`,
    ),
  ].join('\n');
}
