/**
 * @file `pnpm bench card` runs every row on WebGPU, beside PyTorch's figures.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import torch from '../data/torch-h200.json' with { type: 'json' };
import { CARD_ROWS, type CardReport, cardReport, cardTable } from '../src/card/card-bench.js';

/** All rows in small sizes; null where there is no adapter. */
async function quickReport(): Promise<CardReport | null> {
  try {
    return await cardReport(['--quick']);
  } catch (error) {
    if (!isTesseraError(error) || process.env.TESSERA_REQUIRE_WEBGPU === '1') throw error;
    console.warn(`The rows did not run: ${error.message}`);
    return null;
  }
}

const report = await quickReport();

describe('pnpm bench card', () => {
  it.skipIf(report === null)(
    'times every row',
    () => {
      expect(report!.rows.map(({ name }) => name)).toEqual(CARD_ROWS.map(({ name }) => name));
      for (const { name, error, microseconds, awaitedMicroseconds, rounds } of report!.rows) {
        expect(error, name).toBeUndefined();
        expect(Math.min(microseconds!, awaitedMicroseconds!, rounds!), name).toBeGreaterThan(0);
      }
    },
    120_000,
  );

  it('has a figure of PyTorch for every row, but for those of bfloat16, 8 and 4 bits', () => {
    const recorded = Object.keys(torch.results);
    const alone = CARD_ROWS.map(({ name }) => name).filter((name) => !recorded.includes(name));
    expect(alone).toEqual([
      'llama1b_decode_bfloat16',
      'llama1b_decode_int8',
      'llama1b_decode_int4',
    ]);
  });

  it('prints a table, with what failed', () => {
    const measured = {
      microseconds: 50,
      spread: 0,
      cpuMicroseconds: 60,
      awaitedMicroseconds: 70,
      made: {},
      rounds: 10,
    };
    const rows = [
      { name: 'softmax', about: '', goal: null, torchEager: 100, torchCompiled: 80, ...measured },
      { name: 'broken', about: '', goal: 5, torchEager: 1, torchCompiled: null, error: 'why' },
    ].map((row) => ('error' in row ? row : { ...row, ratio: 0.625, firstCallMicroseconds: 3000 }));
    const table = cardTable({ adapter: 'a', torch: { version: '2', device: 'b' }, rows });
    expect(table).toMatchInlineSnapshot(`
      "a; PyTorch 2 on b; µs
      workload  in flight  awaited   CPU  eager  compile  ratio  goal  first, ms
      softmax        50.0     70.0  60.0    100     80.0   0.63     –          3
      broken          why"
    `);
  });

  it('refuses rows that are not there', async () => {
    await expect(cardReport(['--row', 'none'])).rejects.toMatchObject({ code: 'invalid-argument' });
  });
});
