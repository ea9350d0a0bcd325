import { describe, expect, it } from 'vitest';
import type { Outcome } from '../src/harness/outcome.js';
import { formatRate, formatTime, formatWorkloads } from '../src/report/table.js';

const summary = (median: number, spread: number): Extract<Outcome, { status: 'ok' }>['time'] => ({
  median,
  min: median,
  max: median,
  spread,
  samples: 15,
});

describe('table', () => {
  it('chooses units and digits', () => {
    expect([0.5, 9.994, 12.34, 999, 1500, 2.5e6].map(formatTime)).toEqual([
      '0.50 µs',
      '9.99 µs',
      '12.3 µs',
      '999 µs',
      '1.50 ms',
      '2.50 s',
    ]);
    expect(formatRate({ flop: 2 * 1024 ** 3 }, 20_000)).toBe('107 GFLOP/s');
    expect(formatRate({ bytes: 5e7 }, 1000)).toBe('50.0 GB/s');
    expect(formatRate({}, 1000)).toBe('');
  });

  it('aligns times, rates, ratios and remarks', () => {
    const text = formatWorkloads([
      {
        name: 'softmax',
        about: 'over rows',
        shapes: '[2, 2]',
        work: { bytes: 32_000_000 },
        outcomes: [
          {
            status: 'ok',
            engine: 'tessera',
            time: summary(2000, 0.01),
            runsPerSample: 10,
            firstCallMs: 12,
            ratio: null,
          },
          {
            status: 'ok',
            engine: 'jax-js',
            time: summary(30_000, 0.1),
            runsPerSample: 1,
            firstCallMs: 120,
            ratio: summary(15, 0.01),
          },
          { status: 'unsupported', engine: 'ort-web', reason: 'does not train' },
          { status: 'wrong', engine: 'tfjs-wasm', reason: 'element 0 is 1' },
          {
            status: 'recorded',
            engine: 'torch.compile',
            medianUs: 1000,
            firstCallMs: null,
            hardware: 'a Xeon',
            ratio: 0.5,
          },
        ],
      },
    ]);
    expect(text).toMatchInlineSnapshot(`
      "                       time        rate   × tessera   first call   spread
      softmax  [2, 2]  over rows
        tessera           2.00 ms   16.0 GB/s                  12.0 ms      1 %
        jax-js            30.0 ms   1.07 GB/s        15.0       120 ms     10 %
        ort-web          – does not train
        tfjs-wasm        WRONG: element 0 is 1
        torch.compile †   1.00 ms   32.0 GB/s        0.50
      "
    `);
  });
});
