import { describe, expect, it } from 'vitest';
import { measureCompilation, summarizeCompilation } from '../src/compile-time/measure.js';
import { COMPILE_SUBJECTS } from '../src/compile-time/subjects.js';
import { readOptions } from '../src/options.js';
import { formatCompilations } from '../src/report/compile-table.js';

function selected(...argv: string[]): { compilations: string[]; workloads: number } {
  const command = readOptions(argv);
  if ('print' in command) throw new Error(command.print);
  const { compilations, workloads } = command.run;
  return { compilations: compilations.map(({ name }) => name), workloads: workloads.length };
}

describe('compile times', () => {
  it('are measured when named, and then alone', () => {
    expect(selected().compilations).toEqual([]);
    expect(selected('compile_time_gpt2')).toEqual({
      compilations: ['compile_time_gpt2'],
      workloads: 0,
    });
    expect(selected('compile_time').compilations).toHaveLength(COMPILE_SUBJECTS.length);
    expect(selected('compile_time', 'softmax').workloads).toBe(1);
  });

  it('say what each stage took, and what the graphs became', async () => {
    const subject = COMPILE_SUBJECTS.find(({ name }) => name === 'compile_time_gpt2')!;
    const sample = await measureCompilation(subject);
    expect(sample.graphs).toBe(1);
    expect(sample.launches).toBeGreaterThanOrEqual(sample.kernels);
    expect(sample.nodes).toBeGreaterThan(sample.launches);
    const stages = Object.entries(sample.stages);
    expect(stages.map(([name]) => name)).toEqual(
      expect.arrayContaining(['capture', 'joint graph', 'joint passes', 'lower', 'fuse']),
    );
    const known = stages.reduce((total, [, ms]) => total + ms, 0);
    expect(known).toBeLessThanOrEqual(sample.wallMs);
    const text = formatCompilations([summarizeCompilation(subject, [sample, sample])]);
    expect(text).toContain(`${sample.kernels} kernels, ${sample.launches} launches`);
    expect(text).toMatch(/capture +\d+ ms +\d+ %/);
  }, 60_000);
});
