/** The schedules of attention in blocks: as text, verified, and interpreted beside the kernels they are made from. */
import {
  type AttentionKernel,
  type Expr,
  IrBuilder,
  kernelAt,
  printScheduled,
  type ScheduledBody,
  type ScheduledKernel,
  scheduleAttentionBlocks,
  type ScheduledStmt,
  verifyScheduled,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { CPU_TARGET } from '../src/loops/cpu-target.js';
import { type AttentionCase, type AttentionSpec, forward, gradients } from './attention-kernel.js';
import { expectAsInterpreted } from './interpret-schedule.js';

/** So little that blocks have eight columns. */
const SMALL = { ...CPU_TARGET, scratchBytes: 0 };

function expectSame(
  { kernel, counts }: AttentionCase,
  fill?: (name: string, i: number) => number,
): void {
  const fused = kernelAt(kernel, Number) as AttentionKernel;
  expectAsInterpreted(fused, scheduleAttentionBlocks(fused, SMALL), counts, fill);
}

/** A schedule without the statements that a rule takes out. */
function without(
  scheduled: ScheduledKernel,
  isOut: (stmt: ScheduledStmt) => boolean,
): ScheduledKernel {
  const left = (body: ScheduledBody): ScheduledBody =>
    body
      .filter((stmt) => !isOut(stmt))
      .map((stmt) => (stmt.kind === 'loop' ? { ...stmt, body: left(stmt.body) } : stmt));
  return { ...scheduled, body: left(scheduled.body) };
}

describe('schedules of attention in blocks', () => {
  const SPECS: readonly AttentionSpec[] = [
    { batch: 2, rows: 9, columns: 20, width: 4 },
    { batch: 1, rows: 21, columns: 21, width: 8, isCausal: true },
    { batch: 1, rows: 10, columns: 18, width: 12, dtype: 'float64' },
    { batch: 1, rows: 10, columns: 18, width: 4, dtype: 'float16', isCausal: true },
  ];
  for (const spec of SPECS) {
    const text = JSON.stringify(spec);
    it(`of the forward give what the kernel does: ${text}`, () => expectSame(forward(spec)));
    it(`of gradients give what the kernel does: ${text}`, () => expectSame(gradients(spec)));
  }

  it('of heads that share rows give what the kernel does', () => {
    expectSame(gradients({ batch: 2, rows: 9, columns: 13, width: 4, turns: 3 }));
  });

  it('of weights that are each made of both scores give what the kernel does', () => {
    const { kernel, counts } = gradients({ batch: 1, rows: 9, columns: 13, width: 4 });
    const [first, second] = kernel.weights as [Expr, Expr];
    const weights = [new IrBuilder().op('add', [first, second]), second];
    expectSame({ kernel: { ...kernel, weights }, counts });
  });

  it('of rows whose logits are all -∞ give what the kernel does', () => {
    expectSame(forward({ batch: 1, rows: 9, columns: 20, width: 4 }), (name, i) =>
      name === 'bias' && Math.floor(i / 20) % 2 === 1 ? -Infinity : Math.sin(i),
    );
  });

  it.each([
    ['forward', forward],
    ['gradients', gradients],
  ] as const)('of %s tell all that is chosen', async (name, make) => {
    const { kernel } = make({ batch: 2, rows: 300, columns: 600, width: 64, isCausal: true });
    await expect(
      `${printScheduled(scheduleAttentionBlocks(kernel, CPU_TARGET))}\n`,
    ).toMatchFileSnapshot(`./golden/attention_${name}.schedule.txt`);
  });

  it('are refused where what is multiplied is not ready', () => {
    const { kernel } = gradients({ batch: 1, rows: 9, columns: 9, width: 4 });
    const scheduled = scheduleAttentionBlocks(kernel, CPU_TARGET);
    verifyScheduled(scheduled);
    const unpacked = without(
      scheduled,
      (stmt) => stmt.kind === 'pack' && stmt.product === 'score0' && stmt.side === 'a',
    );
    expect(() => verifyScheduled(unpacked)).toThrow("a of 'score0' is not packed");
    const [first, ...others] = scheduled.products!;

    const overwritten = without(
      scheduled,
      (stmt) => stmt.kind === 'pack' && stmt.product === 'value0',
    );
    expect(() => verifyScheduled(overwritten)).toThrow("b of 'value0' is not packed");
    const nowhere = { ...scheduled, products: [{ ...first!, to: 'k' }, ...others] };
    expect(() => verifyScheduled(nowhere)).toThrow("'k' is no buffer to store to");
  });
});
