/**
 * @file The bench of sizes runs every program, and counts what is compiled.
 */
import { describe, expect, it } from 'vitest';
import { dynamicReport } from '../src/dynamic/dynamic-bench.js';
import { DYNAMIC_WORKLOADS } from '../src/dynamic/workloads.js';

/** Operators that a call captures, at the small sizes. */
const OPERATORS: Readonly<Record<string, number>> = {
  mlp_forward: 5,
  mlp_training: 62,
  transformer_forward: 44,
  transformer_training: 288,
  growing_cache: 11,
  resnet18_images: 69,
  lstm_lengths: 14,
  moved_batch: 7,
  moving_slice: 3,
};

describe('pnpm bench dynamic', () => {
  it('runs every program at every size, and compiles nothing for late ones', async () => {
    const { rows } = await dynamicReport(['--quick', '--device', 'cpu']);
    expect(rows.map(({ workload }) => workload)).toEqual(DYNAMIC_WORKLOADS.map(({ name }) => name));
    for (const row of rows) {
      expect(row.repeatedMs, row.workload).toBeGreaterThan(0);
      expect(row.newMs, row.workload).toBeGreaterThan(0);
      expect(row.pausedMs, row.workload).toBeGreaterThan(0);
      expect(row.eagerMs, row.workload).toBeGreaterThan(0);
      expect(row.operators, row.workload).toBe(OPERATORS[row.workload]);
      expect(row.allowedMs, row.workload).toBeCloseTo(1.5 * row.repeatedMs + 0.005 * row.operators);
      expect(row.isKept, row.workload).toBe(row.newMs <= row.allowedMs);
      expect(row.compilations, row.workload).toBeLessThanOrEqual(3 * row.graphs);
      expect(row.lateCompilations, row.workload).toBe(0);
    }
  }, 240_000);
});
