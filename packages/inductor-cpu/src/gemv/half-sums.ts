/**
 * @file Sums over weights of 16-bit floats.
 *
 * A float16 whose bits are moved to where float32 has them is too small by 2^112, which is made good in two parts: in
 * x, and in the sum. That is wrong for infinities and NaN alone, so their exponents are looked for on the way, and
 * columns that have one are summed again by the exact conversion.
 */
import { halfToFloat } from '../body/half.js';
import type { Reg } from '../body/vector-builder.js';
import { call, f32x4, i32, memory, op } from '../emit/code.js';
import type { Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { COLUMNS, ColumnSums, type SumsTarget } from './column-sums.js';
import type { ColumnPlace } from './narrow-weight.js';

/** Half of the 2^112. */
export const HALF_FACTOR: number = 2 ** 56;

/** k of a step. */
const STEP = 8;

/** Four weights at an address, as the sums take them. */
type Read = (sums: ColumnSums, address: Local<'i32'>, offset: number) => Reg;

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
      for (let c = 0; c < COLUMNS; c++)
        for (const half of [0, 1])
          sums.add(
            accs[c]!,
            read(sums, weights, 2 * sums.column(c, row) + 8 * half),
            values[half]!,
          );
    },
  );
  return accs;
}

/** `row` of bfloat16. */
export function bfloatSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const sums = new ColumnSums(target);
  const totals = generate(sums, row, depth, ({ f }, address, offset) =>
    f.let('weight', op('i32x4.shl', memory('v128.load16x4_u', offset, address), i32(16))),
  );
  sums.finish(totals);
  return sums.f;
}

/** `row` of float16, of x times `HALF_FACTOR`. */
export function halfSums(target: SumsTarget, row: ColumnPlace, depth: number): WasmFunction {
  const exact = new ColumnSums({ ...target, name: `${target.name}_exact` });
  const raw = ({ f }: ColumnSums, address: Local<'i32'>, offset: number): Reg =>
    f.let('raw', memory('v128.load16x4_s', offset, address));
  exact.finish(
    generate(exact, row, depth, (own, ...at) => halfToFloat(own.vb, [raw(own, ...at)])[0]!),
    1 / HALF_FACTOR,
  );

  const sums = new ColumnSums(target);
  const { f, vb } = sums;
  const special = f.let('special', f32x4(0));
  const totals = generate(sums, row, depth, (own, ...at) => {
    // A sign-extended half has its sign where float32 has it, whatever it is shifted by.
    const shifted = vb.shift('i32x4.shl', [raw(own, ...at)], 13);
    const placed = vb.bin('v128.and', shifted, vb.i32(~0x70001fff));
    // One more than an exponent of all ones carries into the bit above it.
    const [carried] = vb.bin('i32x4.add', placed, vb.i32(1 << 23));
    f.set(special, op('v128.or', special, carried!));
    return placed[0]!;
  });
  sums.finish(totals, HALF_FACTOR);
  const found = op('v128.any_true', op('v128.and', special, vb.i32(1 << 28)[0]!));
  f.if(found, () => {
    const args = ['args', 'col', 'row', 'out'].map((each) => f.param(each));
    f.do(call(exact.f, ...args));
  });
  return f;
}
