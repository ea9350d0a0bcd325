/**
 * @file The bench of language models generates in every format.
 */
import { describe, expect, it } from 'vitest';
import { generateReport } from '../src/generate/generate-bench.js';

describe('pnpm bench generate', () => {
  it('times decoding and prefill in every format', async () => {
    const { rows, bandwidth } = await generateReport(['--quick', '--model', 'small']);
    expect(bandwidth).toBeGreaterThan(0);
    expect(rows.map(({ format }) => format)).toEqual(['float32', 'float16', 'int8', 'int4']);
    for (const row of rows) {
      expect(row.decodeTokensPerSecond, row.format).toBeGreaterThan(0);
      expect(row.prefillTokensPerSecond, row.format).toBeGreaterThan(0);
      expect(row.bandwidthShare, row.format).toBeCloseTo(
        (row.weightBytes * row.decodeTokensPerSecond) / bandwidth,
        9,
      );
    }
    const [float32, float16, int8, int4] = rows.map(({ weightBytes }) => weightBytes);
    expect(float16! * 2).toBe(float32);
    expect(int8!).toBeLessThan(float32! / 2);
    expect(int4!).toBeLessThan(int8!);
  }, 240_000);

  it('refuses models that it does not know', async () => {
    await expect(generateReport(['--model', 'gpt5'])).rejects.toThrow(/no model 'gpt5'/);
  });
});
