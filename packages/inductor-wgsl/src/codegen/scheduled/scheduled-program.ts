/**
 * @file Scheduled kernels as one module: one kernel, or several that divide the workgroups of a launch.
 */
import {
  type BufferParam,
  choosePairedBuffers,
  chooseVectorBuffers,
  extent,
  type GeneratedKernel,
  kernelLoops,
  postorder,
  type ScheduledKernel,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import { linearGrid } from '../dispatch.js';
import { ScheduledEmitter } from './emit-scheduled.js';
import type { JoinedKernel } from './joined-kernel.js';
import { ProgramBuilder } from '../program.js';
import type { WgslProgram } from '../wgsl-program.js';
import { seeKernel, type SeenKernel } from './scheduled-lanes.js';
import type { WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import { isHalfWide, storageType } from '../values/wgsl-types.js';

/** A module whose buffers are declared as all kernels want them. */
function builderOf(
  kernel: GeneratedKernel<Size> | JoinedKernel,
  parts: readonly SeenKernel[],
  target: WgslTarget,
  variant: KernelVariant,
): ProgramBuilder {
  if (variant.offsets) return new ProgramBuilder(kernel, target, variant, new Set());
  const vectors = chooseVectorBuffers(parts.flatMap(({ accesses }) => accesses));
  // Four values of an operand are eight bytes already.
  if (kernel.kind === 'matmul' || kernel.kind === 'attention')
    return new ProgramBuilder(kernel, target, variant, vectors);
  const isHalf = ({ dtype }: BufferParam): boolean => isHalfWide(storageType(dtype, target.f16));
  const halves = new Set(kernel.params.filter(isHalf).map(({ name }) => name));
  const paired = parts.map(({ accesses, still }) =>
    choosePairedBuffers(accesses, { vectors, halves, still }),
  );
  const isPaired = ({ name }: BufferParam): boolean =>
    parts.every(
      ({ scheduled: { kernel: part } }, i) =>
        paired[i].has(name) || part.params.every((param) => param.name !== name),
    );
  const pairs = new Set(kernel.params.filter(isPaired).map(({ name }) => name));
  return new ProgramBuilder(kernel, target, variant, vectors, pairs);
}

/** The program of a scheduled kernel. */
export function emitScheduled(
  scheduled: ScheduledKernel,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const seen = seeKernel(scheduled);
  const builder = builderOf(scheduled.kernel, [seen], target, variant);
  const { id, workgroups } = linearGrid(scheduled.grid.extent, target);
  const block = new CodeBlock();
  new ScheduledEmitter(seen, builder, target).emit(block, id);
  return builder.finish(scheduled.threads?.extent ?? 1, block, workgroups);
}

/** Elements that a workgroup of a kernel reads, about. */
function readsOfGroup({ scheduled: { kernel, grid }, roots }: SeenKernel): number {
  const loads = postorder(roots).filter(({ kind }) => kind === 'load').length;
  return (loads * (extent(kernelLoops(kernel)) as number)) / (grid.extent as number);
}

/**
 * The program of kernels side by side, with as many threads each and grids of known extents. Workgroups that take longest
 * are the first: the launch would wait for them while the others are done.
 */
export function emitJoined(
  kernel: JoinedKernel,
  parts: readonly ScheduledKernel[],
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const seen = parts.map(seeKernel).sort((a, b) => readsOfGroup(b) - readsOfGroup(a));
  const builder = builderOf(kernel, seen, target, variant);
  return sideBySide(
    builder,
    parts[0].threads!.extent,
    seen.map((part) => ({
      groups: part.scheduled.grid.extent as number,
      emit: (block, group) => new ScheduledEmitter(part, builder, target).emit(block, group),
    })),
  );
}

/** The program of parts that divide the workgroups of a launch, each appended with the text of its own group's number. */
export function sideBySide(
  builder: ProgramBuilder,
  threads: number,
  parts: readonly {
    readonly groups: number;
    readonly emit: (block: CodeBlock, group: string) => void;
  }[],
): WgslProgram {
  const block = new CodeBlock();
  let before = 0;
  for (const [i, { groups, emit }] of parts.entries()) {
    const inner = new CodeBlock();
    const end = before + groups;
    let group = 'group.x';
    if (before > 0) {
      group = builder.names.fresh('group');
      inner.line(`let ${group} = group.x - ${before}u;`);
    }
    emit(inner, group);
    const condition = `if (group.x < ${end}u)`;
    const isLast = i === parts.length - 1;
    block.nest(i === 0 ? condition : isLast ? 'else' : `else ${condition}`, inner);
    before = end;
  }
  return builder.finish(threads, block, [before, 1]);
}
