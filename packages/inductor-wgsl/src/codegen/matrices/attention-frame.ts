/**
 * @file The frame of attention that is made by subgroup matrices or row by row: operands and how they are loaded, which
 * rows a workgroup makes, how scores are weighed and what is stored, as attention in tiles has them.
 */
import {
  type AttentionExtents,
  attentionFrame,
  type AttentionKernel,
  type AttentionOperand,
  type AttentionOrders,
  chooseVectorBuffers,
  kernelStmts,
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
import { wideBuffers, wideLoads } from '../values/wide-halves.js';

/** How operands are loaded, where that is not as they lie in memory and as sums are typed. */
export interface LoadChoices {
  readonly loaded?: 'f16';
  readonly orders?: AttentionOrders;
}

/** See the file header. */
export class AttentionFrame {
  readonly body: CodeBlock = new CodeBlock();
  readonly builder: ProgramBuilder;
  readonly factors: readonly (readonly [AttentionOperand, AttentionOperand])[];
  readonly values: readonly AttentionOperand[];
  /** The batch of columns. */
  readonly place: AttentionOperand['batch'];
  /** Whether all operands are read eight halves at a time. */
  readonly isWide: boolean;
  /** Spells parts that are scheduled; variables go by their names. */
  readonly parts: ScheduledEmitter;
  /** The grid; null where there are no results. */
  readonly workgroups: Workgroups | null;

  constructor(
    kernel: AttentionKernel<Size>,
    target: WgslTarget,
    variant: KernelVariant,
    extents: AttentionExtents,
    { loaded, orders }: LoadChoices = {},
  ) {
    const frame = attentionFrame(kernel, extents, scheduleTarget(target), orders);
    const { factors, values, place, grid, routines, begin } = frame;
    [this.factors, this.values, this.place] = [factors, values, place];
    const scheduled: ScheduledKernel = {
      kernel,
      grid,
      shared: [],
      accumulators: [],
      registers: kernel.accDtype,
      routines,
      body: begin,
    };
    const seen = seeKernel(scheduled);
    const operands = [...factors.flat(), ...values].map(({ operand, order }, i) => {
      const { context } = seen.routines[i].seen;
      return { operand, order, context };
    });
    const others = [...kernel.weights, ...kernelStmts(kernel).flatMap(stmtRoots)];
    const wide = loaded === undefined ? [] : wideLoads(operands, others, variant, target);
    this.isWide = wide.length > 0 && !wide.includes(null);
    const vectors = variant.offsets ? new Set<string>() : chooseVectorBuffers(seen.accesses);
    const buffers = wideBuffers(this.isWide ? wide : []);
    this.builder = new ProgramBuilder(kernel, target, variant, vectors, buffers);
    const halves = seen.routines.map((each, i) => {
      if (loaded === undefined || i >= operands.length) return each;
      const part = this.isWide ? wide[i] : null;
      return seeRoutine(scheduled, each.routine, {
        vector: part === null ? 'vec4h' : 'vec4u',
        wide: part,
      });
    });
    this.parts = new ScheduledEmitter({ ...seen, routines: halves }, this.builder, target);
    const { id, workgroups } = linearGrid(grid.extent, target);
    this.workgroups = grid.extent === 0 ? null : workgroups;
    this.parts.emit(this.body, id);
  }
}
