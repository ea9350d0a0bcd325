import { describe, expect, it } from 'vitest';
import {
  addReport,
  currentReport,
  emptyReport,
  reportKernels,
  reportTo,
  stage,
} from '../src/index.js';

function spend(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('compile reports', () => {
  it('give each stage its own time, not that of the stages inside it', () => {
    const report = emptyReport();
    const start = performance.now();
    const result = reportTo(report, () =>
      stage('outer', () => {
        spend(5);
        stage('inner', () => spend(20));
        reportKernels(3);
        return 'done';
      }),
    );
    const total = performance.now() - start;
    expect(result).toBe('done');
    expect([...report.stages.keys()]).toEqual(['outer', 'inner']);
    expect(report.stages.get('inner')).toBeGreaterThanOrEqual(20);
    expect(report.stages.get('outer')).toBeGreaterThanOrEqual(5);
    // Whatever else the machine does meanwhile, nothing is counted twice.
    expect(report.stages.get('outer')! + report.stages.get('inner')!).toBeLessThanOrEqual(total);
    expect(report.kernels).toBe(3);
  });

  it('count a stage that throws, and end with the compilation', () => {
    const report = emptyReport();
    expect(() =>
      reportTo(report, () =>
        stage('fails', () => {
          spend(2);
          throw new Error('no');
        }),
      ),
    ).toThrow('no');
    expect(report.stages.get('fails')).toBeGreaterThanOrEqual(2);
    expect(currentReport()).toBeNull();
    stage('outside', () => spend(1));
    expect(report.stages.has('outside')).toBe(false);
  });

  it('take what runs later, and add up', () => {
    const report = emptyReport();
    const later = reportTo(report, () => {
      const own = currentReport();
      return () => reportTo(own, () => stage('late', () => spend(1)));
    });
    later();
    later();
    const total = emptyReport();
    addReport(total, report);
    addReport(total, report);
    expect(total.stages.get('late')).toBeCloseTo(2 * report.stages.get('late')!);
  });
});
