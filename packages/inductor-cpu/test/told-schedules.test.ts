import { type FusedKernel, printSchedule } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { cpuBackend } from '../src/index.js';
import { matmul } from './matmul-kernel.js';

describe('what code for the CPU tells of its schedule', () => {
  const told = (kernel: FusedKernel): string =>
    printSchedule(cpuBackend.generate(kernel).schedule!());

  it('is the blocks of a product', () => {
    expect(told(matmul({ m: 300, n: 200, k: 500 }).kernel)).toMatchInlineSnapshot(`
      "scheduled matmul
        variable b: 1
        grid item: 8, items of them at once, up to 25 of each 8, about 200000 ns each
        scratch rows: f32[10256]
        scratch columns: f32[50816]
        product product: tiles of 4 × 2 vectors to C, rows 200 apart
          t0: f32 = A[150000*b + 500*m + k]
          a = t0: panels in rows, up to 40 × 252
          t0: f32 = B[100000*b + 200*k + n]
          b = t0: panels in columns, up to 200 × 252
        let column = item div 8
        let batch = column
        let b = 0
        let block = column mod 1
        let first = (item mod 8)*40
        let stop = first + items*40 at most 300
        let col = block*200
        let cols = 200 + col*-1 at most 200
        loop step from 0 to 500 by 252
          let steps = 500 + step*-1 at most 252
          pack b of product: lines col + cols, steps step + steps of batch
          loop row from first to stop by 40
            let rows = stop + row*-1 at most 40
            pack a of product: lines row + rows, steps step + steps of batch
            multiply product[b*60000 + row*200 + col..]: rows × cols, steps steps, onto what is there unless step is 0"
    `);
  });

  it('is how vectors lie in a product with few rows', () => {
    expect(told(matmul({ m: 1, n: 200, k: 500 }).kernel)).toMatchInlineSnapshot(`
      "scheduled matmul
        variable b: 1
        variable m: 1
        variable n: 200
        variable line: 1
        variable before: 200
        variable at: 1
        grid item: 2, about 7680 ns each
        scratch sums: f32[152]
        product product: tiles of 1 × 4 vectors to sums, rows 136 apart
          t0: f32 = A[500*m + 500*b + k]
          a = t0: evaluated along lines
          t0: f32 = B[100000*b + 200*k + n]
          b = t0: evaluated along lines
        routine epilogue(batch, row, rows, col, cols, at)
          let b = 0
          let rows.end = row + rows
          loop m from row to rows.end
            let stop = col + cols
            let n.whole = col + ((stop + col*-1) div 8)*8
            loop n from col to n.whole by 8
              vector n + 0..3 × 2
                t0: f32 = recall sums[at + m*136 + n]
                C[200*m + 200*b + n] = t0
        let batch = item div 2
        let col = (item mod 2)*128
        let cols = 200 + col*-1 at most 128
        pack a of product: lines 0 + 1, steps 0 + 500 of batch
        pack b of product: lines col + cols, steps 0 + 500 of batch
        multiply product[0..]: 1 × cols, 500 steps
        epilogue(batch, 0, 1, col, cols, 0*-136 + col*-1)"
    `);
  });
});
