/**
 * @file The report with plots: a real run, and one with all that can come of a workload.
 */
import { parseHTML } from 'linkedom';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../src/harness/outcome.js';
import { readOptions } from '../src/options.js';
import { htmlReport } from '../src/report/html-report.js';
import { loadBarPlot } from '../../../tooling/plots.js';
import { runBenchmark } from '../src/run.js';

async function quickRun() {
  const command = readOptions([
    'softmax',
    '--quick',
    '--threads',
    '1',
    '--peers',
    'torch',
    '--rounds',
    '2',
  ]);
  if (!('run' in command)) throw new Error('these options print something');
  return runBenchmark(command.run, () => {});
}

describe('pnpm bench --html', () => {
  it('shows what was measured, on what, without fetching anything', async () => {
    const report = await quickRun();
    const html = await htmlReport(report);
    const { document } = parseHTML(html);
    expect(Array.from(document.querySelectorAll('h2')).map((h2) => h2.textContent)).toEqual([
      'softmax',
    ]);
    const plot = document.querySelector('svg')!;
    expect(plot.getAttribute('role')).toBe('img');
    expect(plot.getAttribute('aria-label')).toBe('Times of softmax');
    expect(plot.querySelectorAll('rect')).toHaveLength(1);
    const cells = Array.from(document.querySelectorAll('table')).at(-1)!.textContent!;
    expect(cells).toContain('tessera');
    expect(cells).toContain('recorded at full size only');
    expect(document.querySelector('p')!.textContent).toContain(`Node ${process.versions.node}`);
    expect(html).not.toMatch(/https?:\/\/(?!www\.w3\.org)/);
  });

  it('draws peers with their ranges, recorded ones without, and escapes names', async () => {
    const report = await quickRun();
    const summary = (median: number) => ({
      median,
      min: median * 0.9,
      max: median * 1.1,
      spread: 0.05,
      samples: 5,
    });
    const outcomes: Outcome[] = [
      {
        status: 'ok',
        engine: 'tessera',
        time: summary(10),
        runsPerSample: 1,
        firstCallMs: 3,
        ratio: null,
      },
      {
        status: 'ok',
        engine: 'peer',
        time: summary(25),
        runsPerSample: 1,
        firstCallMs: null,
        ratio: summary(2.5),
      },
      {
        status: 'recorded',
        engine: 'torch',
        medianUs: 8,
        firstCallMs: null,
        hardware: 'a card',
        ratio: 0.8,
      },
      { status: 'failed', engine: 'other', reason: '<b>why</b>' },
    ];
    const workloads = [{ ...report.workloads[0]!, outcomes }];
    const { document } = parseHTML(await htmlReport({ ...report, workloads }));
    const plot = document.querySelector('svg')!;
    expect(plot.querySelectorAll('rect')).toHaveLength(3);
    const texts = Array.from(plot.querySelectorAll('text')).map((t) => t.textContent ?? '');
    const labels = texts.filter((text) => /\d µs/.test(text));
    expect(labels).toEqual(['10.0 µs', '25.0 µs, 2.50×', '8.00 µs, 0.80×, elsewhere']);
    expect(document.body.textContent).toContain('<b>why</b>');
    expect(document.querySelector('b')).toBeNull();
  });

  it('cuts bars that are much longer than the shortest', async () => {
    const bars = [1, 1000].map((value, i) => ({
      name: `engine ${i}`,
      value,
      label: `${value} µs`,
      own: i === 0,
    }));
    const { document } = parseHTML((await loadBarPlot())('x', 'µs', bars));
    const [short, long] = Array.from(document.querySelectorAll('rect')).map((rect) =>
      Number(rect.getAttribute('width')),
    );
    expect(long! / short!).toBeCloseTo(30, 0);
  });
});
