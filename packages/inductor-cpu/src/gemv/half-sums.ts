/**
 * @file Sums over weights of 16-bit floats.
 *
 * Eight weights are loaded at once. A bfloat16 is the upper half of a float32. A float16 whose bits are moved to where
 * float32 has them is too small by 2^112, which is made good in two parts: in x, and in the sum. That is wrong for
 * infinities and NaN alone, so their exponents are looked for on the way, and columns that have one are summed again by
 * the exact conversion.
 */
import { halfToFloat } from '../body/half.js';
import { call, f32x4, i32, memory, op, shuffle } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { COLUMNS, ColumnSums, type SumsTarget } from './column-sums.js';
import type { ColumnPlace } from './narrow-weight.js';

/** Half of the 2^112. */
export const HALF_FACTOR: number = 2 ** 56;

/** k of a step. */
const STEP = 8;

/** Eight 16-bit weights as two vectors that the sums take. */
type Read = (sums: ColumnSums, weights: Local<'v128'>) => readonly [Code<'v128'>, Code<'v128'>];

function generate(sums: ColumnSums, row: ColumnPlace, depth: number, read: Read): Local<'v128'>[] {
  const { f, x } = sums;
  const weights = sums.address(row, 2);
  const accs = sums.registers('sum');
  sums.steps(
    depth / STEP,
    new Map([
      [x, 4 * STEP],
      [weights, 2 * STEP],
    ]),
    () => {
      const values = [0, 16].map((offset) => f.let('x', memory('v128.load', offset, x)));
      for (let c = 0; c < COLUMNS; c++) {
        const eight = f.let('weights', memory('v128.load', 2 * sums.column(c, row), weights));
        read(sums, eight).forEach((four, half) => sums.add(accs[c]!, four, values[half]!));
      }
    },
  );
  return accs;
}

/** Four 32-bit lanes from the lower or the upper four lanes of 16-bit halves. */
function interleave(low: Local<'v128'>, high: Local<'v128'>, half: 0 | 1): Code<'v128'> {
  const lanes = [0, 1, 2, 3].flatMap((lane) => {
    const at = 8 * half + 2 * lane;
    return [at, at + 1, 16 + at, 17 + at];
  });
  return shuffle(lanes, low, high);
}

/** `row` of bfloat16. */
export function bfloatSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const sums = new ColumnSums(target);
  const nothing = sums.f.let('nothing', f32x4(0));
  const upper = (weights: Local<'v128'>, half: 0 | 1): Code<'v128'> =>
    interleave(nothing, weights, half);
  sums.finish(generate(sums, row, depth, (_, weights) => [upper(weights, 0), upper(weights, 1)]));
  return sums.f;
}

/** `row` of float16, of x times `HALF_FACTOR`. */
export function halfSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const exact = new ColumnSums({ ...target, name: `${target.name}_exact` });
  const converted = (extended: Code<'v128'>): Code<'v128'> =>
    halfToFloat(exact.vb, [exact.f.let('raw', extended)])[0]!;
  exact.finish(
    generate(exact, row, depth, (_, weights) => [
      converted(op('i32x4.extend_low_i16x8_s', weights)),
      converted(op('i32x4.extend_high_i16x8_s', weights)),
    ]),
    1 / HALF_FACTOR,
  );

  const sums = new ColumnSums(target);
  const { f, vb } = sums;
  const bits = (both: number): Code<'v128'> => vb.i32(both)[0]!;
  const special = f.let('special', f32x4(0));
  const totals = generate(sums, row, depth, (_, weights) => {
    // Of three copies of the sign the exponent gets none.
    const upper = op('v128.and', op('i16x8.shr_s', weights, i32(3)), bits(~0x70007000));
    const [high, low] = [f.let('high', upper), f.let('low', op('i16x8.shl', weights, i32(13)))];
    // One more than an exponent of all ones carries into the bit above it.
    f.set(special, op('v128.or', special, op('i32x4.add', high, bits(0x00800080))));
    return [interleave(low, high, 0), interleave(low, high, 1)];
  });
  sums.finish(totals, HALF_FACTOR);
  const found = op('v128.any_true', op('v128.and', special, bits(0x10001000)));
  f.if(found, () => {
    const args = ['args', 'col', 'row', 'out'].map((each) => f.param(each));
    f.do(call(exact.f, ...args));
  });
  return f;
}
