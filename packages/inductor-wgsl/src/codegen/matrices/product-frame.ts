/**
 * @file The frame of a product of matrices that subgroups make: operands and how they are loaded, the epilogue, and which
 * tile a workgroup makes, as products of threads have them.
 */
import {
  chooseVectorBuffers,
  type MatmulKernel,
  productFrame,
  type ScheduledKernel,
  stmtRoots,
} from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { CodeBlock } from '../code-block.js';
import { linearGrid, type Workgroups } from '../dispatch.js';
import { ScheduledEmitter } from '../scheduled/emit-scheduled.js';
import { ProgramBuilder } from '../program.js';
import { seeKernel, seeRoutine } from '../scheduled/scheduled-lanes.js';
import { scheduleTarget, type WgslTarget } from '../target.js';
import type { KernelVariant } from '../variant.js';
import {
  type LoadedOperand,
  type LoadExpr,
  wideBuffers,
  wideLoads,
} from '../values/wide-halves.js';

/** An operand's slab: how it is loaded, values along x, and text of the first x. */
export interface FrameOperand extends LoadedOperand {
  readonly extent: number;
  readonly origin: string;
  /** What is read eight halves at a time, if it is. */
  readonly wide: LoadExpr | null;
}

/** See the file header. */
export class ProductFrame {
  readonly body: CodeBlock = new CodeBlock();
  readonly builder: ProgramBuilder;
  /** Of `a` and `b`. */
  readonly operands: readonly [FrameOperand, FrameOperand];
  /** Slabs along k. */
  readonly steps: Size;
  /** The grid; null where there are no results. */
  readonly workgroups: Workgroups | null;

  private readonly emitter: ScheduledEmitter;
  private readonly group: string;

  constructor(
    kernel: MatmulKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    tile: {
      readonly bm: number;
      readonly bn: number;
      readonly bk: number;
      readonly threads: number;
    },
  ) {
    const { operands, steps, grid, routines, shared, begin } = productFrame(
      kernel,
      tile,
      scheduleTarget(target),
    );
    const accumulators: ScheduledKernel['accumulators'] = [];
    const registers = kernel.accDtype;
    const scheduled = { kernel, grid, shared, accumulators, registers, routines, body: begin };
    const seen = seeKernel(scheduled);
    const loaded = operands.map(({ operand, order }, i) => {
      const { context } = seen.routines[i].seen;
      return { operand, order, context };
    });
    const stored = kernel.epilogue.flatMap(stmtRoots);
    const wide = wideLoads(loaded, stored, variant, target);
    const vectors = variant.offsets ? new Set<string>() : chooseVectorBuffers(seen.accesses);
    this.builder = new ProgramBuilder(kernel, target, variant, vectors, wideBuffers(wide));
    const [a, b] = ['first_m', 'first_n'].map((origin, i): FrameOperand => ({
      ...operands[i],
      ...loaded[i],
      origin,
      wide: wide[i],
    }));
    this.operands = [a, b];
    this.steps = steps;
    const { id, workgroups } = linearGrid(grid.extent, target);
    this.workgroups = grid.extent === 0 ? null : workgroups;
    const halves = routines.map((routine, i) => {
      if (i >= wide.length) return seen.routines[i];
      const vector = wide[i] === null ? 'vec4h' : 'vec4u';
      return seeRoutine(scheduled, routine, { vector, wide: wide[i] });
    });
    this.emitter = new ScheduledEmitter({ ...seen, routines: halves }, this.builder, target);
    this.group = id;
  }

  /** Begins the kernel: `batch`, `first_m` and `first_n` are known in `body`. */
  begin(): void {
    this.emitter.emit(this.body, this.group);
  }
}
