/**
 * Which results of a tile each thread makes, worked out from the text.
 */
import { describe, expect, it } from 'vitest';
import { CodeBlock } from '../src/codegen/code-block.js';
import { placeThread } from '../src/codegen/matmul-threads.js';
import { MATMUL_TILES, tileThreads, type MatmulTile } from '../src/codegen/matmul-tiles.js';
import { BASELINE_TARGET } from '../src/index.js';

interface Place {
  readonly slice: number;
  readonly row: number;
  readonly column: number;
}

/** Where the threads of a workgroup are. */
function places(tile: MatmulTile): Place[] {
  const body = new CodeBlock();
  placeThread(body, tile, BASELINE_TARGET);
  // Whole numbers, as in WGSL.
  const text = body.render('').replaceAll(/(\d+)u/g, '$1n');
  const slice = text.includes('let slice') ? 'slice' : '0n';
  const at = new Function('lane', `${text}; return [${slice}, row, column].map(Number);`) as (
    lane: bigint,
  ) => [number, number, number];
  return Array.from({ length: tileThreads(tile) }, (_, lane) => {
    const [s, row, column] = at(BigInt(lane));
    return { slice: s, row, column };
  });
}

describe('threads of a product', () => {
  it.each(MATMUL_TILES)('have each its own results: %j', (tile) => {
    const all = places(tile);
    const names = new Set(all.map(({ slice, row, column }) => `${slice} ${row} ${column}`));
    expect(names.size).toBe(all.length);
    expect(Math.max(...all.map(({ row }) => row))).toBe(tile.bm / tile.tm - 1);
    expect(Math.max(...all.map(({ column }) => column))).toBe(tile.bn / tile.tn - 1);
  });

  it('that run together share rows with every other thread, and columns with their neighbours', () => {
    const all = places({ bm: 64, bn: 64, bk: 16, tm: 4, tn: 8, slices: 1 });
    for (const [i, { row, column }] of all.entries()) {
      expect(all[i ^ 1].column).toBe(column);
      expect(all[i ^ 2].row).toBe(row);
    }
  });
});
