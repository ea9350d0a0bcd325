/**
 * @file The bench of sizes runs every program, and counts what is compiled.
 */
import { describe, expect, it } from 'vitest';
import { dynamicReport } from '../src/dynamic/dynamic-bench.js';
import { DYNAMIC_WORKLOADS } from '../src/dynamic/workloads.js';

describe('pnpm bench dynamic', () => {
  it('runs every program at every size, and compiles nothing for late ones', async () => {
    const { rows } = await dynamicReport(['--quick', '--device', 'cpu']);
    expect(rows.map(({ workload }) => workload)).toEqual(DYNAMIC_WORKLOADS.map(({ name }) => name));
    for (const row of rows) {
      expect(row.repeatedMs, row.workload).toBeGreaterThan(0);
      expect(row.newMs, row.workload).toBeGreaterThan(0);
      expect(row.pausedMs, row.workload).toBeGreaterThan(0);
      expect(row.eagerMs, row.workload).toBeGreaterThan(0);
      expect(row.compilations, row.workload).toBeLessThanOrEqual(3 * row.graphs);
      expect(row.lateCompilations, row.workload).toBe(0);
    }
  }, 240_000);
});
