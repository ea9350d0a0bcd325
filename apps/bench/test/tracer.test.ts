/**
 * @file The tracer's own benches run and report every cost.
 */
import { describe, expect, it } from 'vitest';
import { asksForTracer, tracerReport } from '../src/tracer/index.js';

describe('pnpm bench guards replay', () => {
  it('measures guards and replay', () => {
    expect(asksForTracer(['guards', 'replay'])).toBe(true);
    expect(asksForTracer(['guards', '--quick'])).toBe(false);
    const { costs } = tracerReport(['guards', 'replay']);
    expect(costs.map(({ name }) => name)).toEqual([
      'guards_two_tensors',
      'guards_100_modules',
      'replay_matched_op',
      'replay_trusted_region',
      'replay_trusted_region_of_100_modules',
    ]);
    for (const { microseconds } of costs) expect(microseconds).toBeGreaterThan(0);
    if (process.env.SHOW === '1') console.log(JSON.stringify(costs));
  });
});
