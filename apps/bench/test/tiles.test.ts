/**
 * @file `pnpm bench tiles` measures products in chosen and in tuned tiles.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { PRODUCT_SHAPES, QUICK_SHAPES } from '../src/tiles/product-shapes.js';
import { type TilesReport, tilesReport, tilesTable } from '../src/tiles/tiles-bench.js';

/** Null where there is no adapter. */
async function quickReport(): Promise<TilesReport | null> {
  try {
    return await tilesReport(['--quick']);
  } catch (error) {
    if (!isTesseraError(error) || process.env.TESSERA_REQUIRE_WEBGPU === '1') throw error;
    console.warn(`The products did not run: ${error.message}`);
    return null;
  }
}

const report = await quickReport();

describe('pnpm bench tiles', () => {
  it.skipIf(report === null)('times every product both ways', () => {
    expect(report!.rows.map(({ name }) => name)).toEqual(QUICK_SHAPES.map(({ name }) => name));
    for (const { chosen, tuned, ratio } of report!.rows) {
      expect(Math.min(chosen, tuned)).toBeGreaterThan(0);
      expect(ratio).toBeCloseTo(chosen / tuned, 6);
    }
    expect(report!.worst).toBe(Math.max(...report!.rows.map(({ ratio }) => ratio)));
  });

  it('has 60 products, none of them twice', () => {
    expect(new Set(PRODUCT_SHAPES.map(({ name }) => name)).size).toBe(60);
  });

  it('refuses what it cannot measure', async () => {
    await expect(tilesReport(['--dtype', 'int8'])).rejects.toMatchObject({
      code: 'invalid-argument',
    });
  });

  it('prints the worst first', () => {
    const environment = {} as TilesReport['environment'];
    const rows = [
      { name: '8×8×8', chosen: 10, tuned: 10, ratio: 1 },
      { name: '64×64×64', chosen: 22, tuned: 20, ratio: 1.1 },
    ];
    const known = { date: '', environment, adapter: 'a', dtype: 'float32' as const };
    expect(tilesTable({ ...known, rows, geometricMean: 1.0488, worst: 1.1 }))
      .toMatchInlineSnapshot(`
      "a; µs chosen, tuned, ratio
      64×64×64      22.0      20.0  1.10
      8×8×8         10.0      10.0  1.00
      geometric mean 1.049, worst 1.10"
    `);
  });
});
