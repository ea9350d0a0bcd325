/**
 * @file The bench of language models generates in every format, and its peers generate the same text.
 */
import { describe, expect, it } from 'vitest';
import { generateReport } from '../src/generate/generate-bench.js';
import { generateTable } from '../src/generate/generate-table.js';
import { GENERATE_MODELS, withLayers } from '../src/generate/models.js';

describe('pnpm bench generate', () => {
  it('times decoding and prefill in every format', async () => {
    const { rows } = await generateReport(['--quick', '--model', 'small']);
    expect(rows.map(({ format }) => format)).toEqual(['float32', 'float16', 'int8', 'int4']);
    for (const row of rows) {
      expect(row.bandwidth, row.format).toBeGreaterThan(0);
      expect(row.decodeTokensPerSecond, row.format).toBeGreaterThan(0);
      expect(row.prefillTokensPerSecond, row.format).toBeGreaterThan(0);
      expect(row.bandwidthShare, row.format).toBeGreaterThan(0);
    }
    const [float32, float16, int8, int4] = rows.map(({ weightBytes }) => weightBytes);
    expect(float16! * 2).toBe(float32);
    expect(int8!).toBeLessThan(float32! / 2);
    expect(int4!).toBeLessThan(int8!);
  }, 240_000);

  it.each(['small', 'gpt2'])(
    'has peers that make the same tokens of %s in float32',
    async (model) => {
      const args = ['--quick', '--model', model, '--layers', '1', '--format', 'float32'];
      const report = await generateReport([...args, '--peers', 'all']);
      const [row] = report.rows;
      expect(row!.peers.map(({ engine }) => engine).sort()).toEqual([
        'llama-cpp',
        'ort-node',
        'ort-web',
      ]);
      for (const peer of row!.peers)
        // llama.cpp has no binaries for some machines; the row says so.
        if (!('reason' in peer)) expect(peer.sameTokens, peer.engine).toBe(1);
        else expect(peer.engine).toBe('llama-cpp');
      expect(row!.about).toContain('1 of its');
      const table = generateTable(report);
      for (const peer of row!.peers) expect(table).toContain(peer.engine);
    },
    240_000,
  );

  it('says how much of a large model it measures', () => {
    const large = GENERATE_MODELS.find(({ name }) => name === 'llama1b')!;
    expect(withLayers(large, null).about).toContain('4 of its 16 layers');
    expect(withLayers(large, 16).about).toBe(large.about);
  });

  it('refuses models and peers that it does not know', async () => {
    await expect(generateReport(['--model', 'gpt5'])).rejects.toThrow(/no model 'gpt5'/);
    await expect(generateReport(['--peers', 'abacus'])).rejects.toThrow(/no peer 'abacus'/);
  });
});
