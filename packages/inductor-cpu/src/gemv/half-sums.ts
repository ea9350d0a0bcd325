/**
 * @file Sums over weights of 16-bit floats.
 *
 * Eight weights are loaded at once. A bfloat16 is the upper half of a float32. A float16 whose bits are moved to where
 * float32 has them is too small by 2^112, which is made good in two parts: in x, and in the sum. That is wrong for
 * infinities and NaN alone. Where no weight of a call's columns is as large as 2, as one instruction for eight of them
 * finds out, none is among them. Columns with a larger one are summed again while exponents of all ones are looked for, and
 * once more by the exact conversion if there are any.
 * Four columns of a call would have their sums in memory, in the code of TurboFan.
 */
import { type ColumnPlace, HALF_FACTOR } from '@tessera/inductor-core';
import { halfToFloat } from '../body/half.js';
import { call, f32x4, i32, memory, op, shuffle } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { ColumnSums, type SumsTarget } from './column-sums.js';

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
      for (let c = 0; c < accs.length; c++) {
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

/** The exact conversion. */
function exactHalfSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const sums = new ColumnSums(target);
  const converted = (extended: Code<'v128'>): Code<'v128'> =>
    halfToFloat(sums.vb, [sums.f.let('raw', extended)])[0]!;
  const totals = generate(sums, row, depth, (_, weights) => [
    converted(op('i32x4.extend_low_i16x8_s', weights)),
    converted(op('i32x4.extend_high_i16x8_s', weights)),
  ]);
  sums.finish(totals, 1 / HALF_FACTOR);
  return sums.f;
}

/** What is looked for: bits of both 16-bit lanes, of weights or of the upper halves of what they become. */
interface Search {
  /** Added before, so that exponents of all ones carry into the bit above them. */
  readonly add: number;
  readonly bits: number;
}

const LARGE: Search = { add: 0, bits: 0x4000 };
const NOT_FINITE: Search = { add: 0x80, bits: 0x1000 };

/** The sums of moved bits; columns where something is found are summed by `otherwise`. */
function movedHalfSums(
  target: SumsTarget,
  row: ColumnPlace,
  depth: number,
  search: Search,
  otherwise: WasmFunction,
): WasmFunction {
  const sums = new ColumnSums(target);
  const { f, vb } = sums;
  const both = (bits: number): Code<'v128'> => vb.i32(bits | (bits << 16))[0]!;
  const seen = f.let('seen', f32x4(0));
  const totals = generate(sums, row, depth, (_, weights) => {
    // Of three copies of the sign the exponent gets none.
    const upper = op('v128.and', op('i16x8.shr_s', weights, i32(3)), both(0x8fff));
    const [high, low] = [f.let('high', upper), f.let('low', op('i16x8.shl', weights, i32(13)))];
    const looked = search.add === 0 ? weights : op('i32x4.add', high, both(search.add));
    f.set(seen, op('v128.or', seen, looked));
    return [interleave(low, high, 0), interleave(low, high, 1)];
  });
  sums.finish(totals, HALF_FACTOR);
  f.if(op('v128.any_true', op('v128.and', seen, both(search.bits))), () => {
    const args = ['args', 'col', 'row', 'out'].map((each) => f.param(each));
    f.do(call(otherwise, ...args));
  });
  return f;
}

/** `row` of float16, of x times `HALF_FACTOR`. */
export function halfSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const named = (what: string): SumsTarget => ({ ...target, name: `${target.name}_${what}` });
  const exact = exactHalfSums(named('exact'), row, depth);
  const large = movedHalfSums(named('large'), row, depth, NOT_FINITE, exact);
  return movedHalfSums(target, row, depth, LARGE, large);
}
