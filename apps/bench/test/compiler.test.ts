/**
 * @file The compiler's own benches run and report what was asked for.
 */
import { describe, expect, it } from 'vitest';
import { freezingTimes } from '../src/compiler/freezing.js';
import { asksForCompiler, compilerReport } from '../src/compiler/index.js';
import { measureEarlyCalls } from '../src/tracer/early-calls.js';

describe('pnpm bench guards replay partition memory freezing', () => {
  it('takes the names of benches and nothing else', () => {
    expect(asksForCompiler(['guards', 'replay', 'partition', 'memory', 'freezing'])).toBe(true);
    expect(asksForCompiler(['guards', '--quick'])).toBe(false);
    expect(asksForCompiler([])).toBe(false);
  });

  it('measures guards and replay', () => {
    const { costs, earlyCalls, partition, freezing } = compilerReport(
      ['guards', 'replay'],
      measureEarlyCalls,
    );
    expect(costs!.map(({ name }) => name)).toEqual([
      'guards_two_tensors',
      'guards_100_modules',
      'replay_matched_op',
      'replay_module',
      'replay_sequential_of_100_modules',
    ]);
    // A cost per unit is a difference of two times: on a busy machine it may be anything.
    for (const { microseconds } of costs!) expect(microseconds).toSatisfy(Number.isFinite);
    expect(earlyCalls!.map(({ model }) => model)).toEqual(['resnet18', 'gpt2_12_layers']);
    for (const { early, steady } of earlyCalls!) expect(Math.min(early, steady)).toBeGreaterThan(0);
    expect([partition, freezing]).toEqual([undefined, undefined]);
  });

  it('puts bytes saved for backward beside those of PyTorch, and no more of them under min-cut', () => {
    const { partition } = compilerReport(['partition']);
    expect(partition!.length).toBeGreaterThan(100);
    for (const { name, partitioner, tessera, torch } of partition!)
      if (partitioner === 'min_cut')
        expect(tessera.savedBytes, name).toBeLessThanOrEqual(torch.savedBytes);
  });

  it('times inference plain, frozen and with channels last', () => {
    const times = freezingTimes(1);
    expect(times.map(({ name }) => name)).toEqual(['plain', 'frozen', 'frozen, channels last']);
    for (const { wallMs, cpuMs } of times) expect(Math.min(wallMs, cpuMs)).toBeGreaterThan(0);
  });

  it('puts the peak of a training step beside what it needs', () => {
    const { memory } = compilerReport(['memory']);
    const { parameters, gradients, optimizerState, peakToNeeded, growth } = memory!;
    expect([gradients, optimizerState]).toEqual([parameters, 2 * parameters]);
    expect(peakToNeeded).toBeGreaterThan(0.9);
    expect(peakToNeeded).toBeLessThan(1.1);
    expect(growth).toBeLessThan(100);
  });
});
