/**
 * Which results of a tile each thread makes, worked out from the schedule.
 */
import {
  indexAt,
  MATMUL_TILES,
  placeThread,
  tileThreads,
  type MatmulTile,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { BASELINE_TARGET } from '../src/index.js';

interface Place {
  readonly slice: number;
  readonly row: number;
  readonly column: number;
}

/** Where the threads of a workgroup are. */
function places(tile: MatmulTile): Place[] {
  const body = placeThread(tile, BASELINE_TARGET);
  return Array.from({ length: tileThreads(tile) }, (_, lane) => {
    const known = new Map([
      ['slice', 0],
      ['lane', lane],
    ]);
    for (const stmt of body) {
      if (stmt.kind !== 'let') continue;
      const index = indexAt(stmt.index, known);
      known.set(stmt.name, (index as { readonly value: number }).value);
    }
    const [slice, row, column] = ['slice', 'row', 'column'].map((name) => known.get(name)!);
    return { slice, row, column };
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
