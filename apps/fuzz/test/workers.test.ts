/**
 * @file Ranges of seeds in child processes: every seed runs once, and a process that dies is told.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readOptions, workerArguments } from '../src/options.js';
import { rangesOf, runWorkers } from '../src/workers.js';

/** Stands in for the fuzzer: seed 7 fails, and the process that has seed 13 dies. */
const SCRIPT = `
const at = (name) => Number(process.argv[process.argv.indexOf(name) + 1]);
const seed = at('--seed'), n = at('--n');
const has = (s) => s >= seed && s < seed + n;
if (has(13)) process.exit(3);
if (has(7)) console.log('program 7');
console.log(JSON.stringify({ seed, n, backends: [], mismatches: 0, failed: has(7) ? [7] : [], died: [], seconds: 0 }));
`;

describe('worker processes', () => {
  it('get disjoint ranges that cover all seeds', () => {
    for (const [n, workers] of [
      [1, 4],
      [10, 3],
      [20_000, 16],
    ] as const) {
      const ranges = rangesOf({ seed: 5, n }, workers);
      const seeds = ranges.flatMap((range) =>
        Array.from({ length: range.n }, (_, i) => range.seed + i),
      );
      expect(seeds).toEqual(Array.from({ length: n }, (_, i) => 5 + i));
    }
  });

  it('have one result, with what failed and who died', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fuzz-workers-'));
    try {
      const script = join(folder, 'stand-in.mjs');
      writeFileSync(script, SCRIPT);
      let programs = '';
      const whole = { seed: 0, n: 16, backends: ['eager'], workers: 2 };
      const result = await runWorkers(script, [], whole, (text) => (programs += text));
      expect(programs.trim()).toBe('program 7');
      expect(result).toMatchObject({ seed: 0, n: 16, failed: [7], died: [12], mismatches: 2 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('run with the options of the whole run', () => {
    const options = readOptions(['--workers', '4', '--with', 'edits,kept', '--backends', 'eager'])!;
    expect(options.workers).toBe(4);
    const part = readOptions([...workerArguments(options), '--seed', '1', '--n', '2'])!;
    expect(part).toEqual({ ...options, workers: 1, seed: 1, n: 2 });
    expect(readOptions(workerArguments(readOptions(['--with', 'none'])!))!.extras).toEqual({});
    const training = readOptions(['--with', 'training'])!;
    expect(training).toMatchObject({ extras: {}, training: true });
    expect(readOptions(workerArguments(training))).toMatchObject({ extras: {}, training: true });
    expect(() => readOptions(['--with', 'luck'])).toThrow(/no 'luck'/);
    expect(() => readOptions(['--devices', 'tpu'])).toThrow(/no 'tpu'/);
  });
});
