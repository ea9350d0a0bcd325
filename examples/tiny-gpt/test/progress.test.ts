/**
 * @file The curve and the bar of a training run, and plain lines where nobody looks at a terminal.
 */
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { Progress, type Report, curveOf, pictureOf } from '../src/progress.js';

const reports = (count: number): Report[] =>
  Array.from({ length: count }, (_, i) => ({
    step: (i + 1) * 10,
    loss: 4 - (3 * i) / Math.max(1, count - 1),
    lr: 1e-3,
    msPerStep: 20,
  }));

/** What is written to a stream that is a terminal, or is none. */
function written(isTTY: boolean, report: (progress: Progress) => void): string {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 100, rows: 40 });
  const progress = new Progress(100, stream as unknown as NodeJS.WriteStream);
  report(progress);
  progress.finish();
  return String(stream.read() ?? '');
}

describe('progress of training', () => {
  it('is a curve that falls, and a bar', () => {
    const picture = pictureOf(reports(5), 100);
    const lines = picture.split('\n');
    expect(picture).toContain('loss');
    expect(picture).toMatch(/[┗┓━┛┏]/);
    expect(lines.at(-2)).toBe(`${'█'.repeat(15)}${'░'.repeat(15)} 50/100, 1 s left`);
    expect(lines.at(-1)).toBe('step 50: loss 1.0000, lr 1.00e-3, 20.0 ms/step');
  });

  it('has no curve of one point', () => {
    expect(pictureOf(reports(1), 100).split('\n')).toHaveLength(2);
  });

  it('means neighbours where there are more reports than columns', () => {
    const points = curveOf(reports(100), 40);
    expect(points.length).toBeLessThanOrEqual(40);
    expect(points.at(-1)![0]).toBe(1000);
    expect(points[0]![1]).toBeGreaterThan(points.at(-1)![1]);
    expect(curveOf(reports(3), 40)).toHaveLength(3);
  });

  it('is lines in a file', () => {
    const text = written(false, (progress) => {
      for (const report of reports(2)) progress.report(report);
    });
    expect(text).toBe(
      'step 10: loss 4.0000, lr 1.00e-3, 20.0 ms/step\nstep 20: loss 1.0000, lr 1.00e-3, 20.0 ms/step\n',
    );
  });

  it('is drawn over itself in a terminal', () => {
    const text = written(true, (progress) => {
      for (const report of reports(3)) progress.report(report);
    });
    // The earlier picture is erased before the next.
    expect(text).toContain('\u001B[');
    expect(text).toContain('30/100');
  });
});
