/**
 * @file Sums over weights of 8 or 4 bits for rows with infinities or NaN.
 *
 * Fixed point has neither, and counting 4 bits from 0 instead of from 8 subtracts infinities. So each weight is computed
 * as its operator says, and multiplied with a float: several times the work, for rows that are rare.
 */
import type { PackedWeight } from '@tessera/inductor-core';
import { f32x4, i32, i32x4, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';
import { COLUMNS, ColumnSums, type SumsTarget } from './column-sums.js';

/** Bits of an exponent of all ones. */
const NOT_FINITE = 0x7f800000;

/** The function `(row, out)` that stores at `out` whether any of the values at `row` is infinite or NaN. */
export function findNotFinite(name: string, depth: number): WasmFunction {
  const f = new WasmFunction(name, { row: 'i32', out: 'i32' });
  const [x, found] = [f.let('x', f.param('row')), f.let('found', i32x4(0))];
  f.for('k', i32(0), depth, 4, () => {
    const exponent = op('v128.and', memory('v128.load', 0, x), i32x4(NOT_FINITE));
    f.set(found, op('v128.or', found, op('i32x4.eq', exponent, i32x4(NOT_FINITE))));
    advance(f, x, 16);
  });
  f.do(memory('i32.store', 0, f.param('out'), op('v128.any_true', found)));
  return f;
}

/** Eight weights of a column from an address on, as floats before scale and zero. */
function eight(sums: ColumnSums, { format }: PackedWeight, at: Code<'i32'>): Code<'v128'>[] {
  const { f } = sums;
  const floats = (value: Code<'v128'>): Code<'v128'> => op('f32x4.convert_i32x4_s', value);
  if (format === 'int8') {
    const bytes = f.let('bytes', memory('v128.load8x8_s', 0, at));
    return [
      floats(op('i32x4.extend_low_i16x8_s', bytes)),
      floats(op('i32x4.extend_high_i16x8_s', bytes)),
    ];
  }
  const word = f.let('word', memory('v128.load32_splat', 0, at));
  return [word, op('i32x4.shr_u', word, i32(16))].map((half) => {
    const parts = op('v128.and', half, i32x4(15, 15 << 4, 15 << 8, 15 << 12));
    const values = op('f32x4.mul', floats(parts), f32x4(1, 2 ** -4, 2 ** -8, 2 ** -12));
    return op('f32x4.sub', values, f32x4(8));
  });
}

/** The function `(args, col, row, out)`; `row` is where the values lie as floats. */
export function exactSums(target: SumsTarget, weight: PackedWeight, depth: number): WasmFunction {
  const sums = new ColumnSums(target);
  const { f, x } = sums;
  const { format, scales, row } = weight;
  const bytes = format === 'int8' ? 8 : 4;
  const words = sums.address(row, 4);
  const steps = scales === null ? null : sums.address(scales.scale, 4);
  const totals = sums.registers('sum');
  const splat = (column: number, step: number): Local<'v128'> => {
    const at = 4 * (sums.column(column, scales!.scale) + step);
    return f.let('shared', memory('v128.load32_splat', at, steps!));
  };
  const group = scales?.group ?? depth;
  const moves = new Map(steps === null ? [] : [[steps, 4 * scales!.groupStep]]);
  sums.steps(depth / group, moves, () => {
    f.for('eight', i32(0), group / 8, 1, () => {
      for (let c = 0; c < COLUMNS; c++) {
        const at = f.let('at', op('i32.add', words, i32(4 * sums.column(c, row))));
        eight(sums, weight, at).forEach((value, half) => {
          let w = value;
          if (scales !== null) w = op('f32x4.mul', w, splat(c, 0));
          if (weight.format === 'int4') w = op('f32x4.add', w, splat(c, weight.zeroStep));
          sums.add(totals[c]!, w, memory('v128.load', 16 * half, x));
        });
      }
      advance(f, x, 32);
      advance(f, words, bytes);
    });
  });
  sums.finish(totals);
  return f;
}
