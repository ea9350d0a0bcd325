/**
 * @file Values of a row in fixed point, as vectors of 16-bit integers that `i32x4.dot_i16x8_s` multiplies with weights.
 *
 * A group of k shares a power of two that takes its largest value below 2^14. What is a whole number then is the first
 * digit; what is left, times 2^15, the second. Two digits have every bit of values from 1/64 of the largest on, and
 * 2^-29 of the largest of smaller ones; sums of products with whole numbers are exact. (Where the largest is below
 * 2^-98, values are rounded to multiples of 2^-126, the smallest normal number.) One digit rounds each value to 2^-15 of
 * its group's largest, or better.
 *
 * A group's record has, besides digits, what all columns share: a vector that the first digit is multiplied by, and for 4
 * bits, which count from 8 on, where the sums of products begin and the sum of the values.
 */
import { groupBytes, type RowForm } from '@tessera/inductor-core';
import { f32x4, i32, i32x4, memory, op, shuffle } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance } from '../matmul/index-code.js';

/** See the file header. `inParts`, for weights of 4 bits: a vector of digits belongs to the same half of each byte. */
export type FixedPoint = Extract<RowForm, { kind: 'digits' }>;

/** Bits of the second digit. */
export const LOW_BITS = 15;

/** Where the parts of a record lie, in bytes; the digits of `k` to `k + 7`, or of a part, are next to each other. */
export class FixedPointRecord {
  readonly digits: number;
  readonly inParts: boolean;
  readonly values: number;
  readonly bytes: number;

  constructor(form: FixedPoint) {
    const { digits, inParts } = form;
    this.digits = digits;
    this.inParts = inParts;
    this.values = 16 * (1 + (inParts ? digits + 1 : 0));
    this.bytes = groupBytes(form);
  }

  /** What sums of the first digit's products are multiplied by. */
  readonly unit = 0;

  /** Where sums of a digit's products begin. */
  start(digit: number): number {
    return 16 * (1 + digit);
  }

  /** The sum of the group's values, spread over lanes. */
  get sum(): number {
    return 16 * (1 + this.digits);
  }
}

const bits = (exponent: number): number => exponent << 23;

/** Biased exponents: of the smallest largest value, and what a first digit's unit is above the value's own. */
const SMALLEST = 29;
const BELOW = 13;

/** A vector whose lanes move by so many bytes, around its end. */
function turned(value: Local<'v128'>, bytes: number): Code<'v128'> {
  return shuffle(
    Array.from({ length: 16 }, (_, i) => (i + bytes) % 16),
    value,
    value,
  );
}

/** The power of two, as bits of a float, above which a group's largest value lies; in all lanes. */
function exponentOf(f: WasmFunction, x: Local<'i32'>, group: number): Local<'v128'> {
  const most = f.let('most', i32x4(0));
  const at = f.let('at', x);
  f.for('k', i32(0), group, 4, () => {
    const size = op('v128.and', memory('v128.load', 0, at), i32x4(0x7f800000));
    f.set(most, op('i32x4.max_s', most, size));
    advance(f, at, 16);
  });
  for (const turn of [8, 4]) f.set(most, op('i32x4.max_s', most, turned(most, turn)));
  return f.let('exponent', op('i32x4.max_s', most, i32x4(bits(SMALLEST))));
}

const whole = (value: Code<'v128'>): Code<'v128'> =>
  op('i32x4.trunc_sat_f32x4_s', op('f32x4.nearest', value));

/** The digits of four values at an address, as int32 each. */
function digitsOf(
  f: WasmFunction,
  digits: FixedPoint['digits'],
  value: Code<'v128'>,
  scale: Local<'v128'>,
): Local<'v128'>[] {
  const scaled = f.let('scaled', op('f32x4.mul', value, scale));
  const high = f.let('high', whole(scaled));
  if (digits === 1) return [high];
  const rest = op('f32x4.sub', scaled, op('f32x4.convert_i32x4_s', high));
  return [high, f.let('low', whole(op('f32x4.mul', rest, f32x4(2 ** LOW_BITS))))];
}

/** The function `(row, out)` that writes the records of the float32 values at `row`. */
export function fixedPointRow(name: string, row: FixedPoint, depth: number): WasmFunction {
  const { digits, group, inParts } = row;
  const record = new FixedPointRecord(row);
  const f = new WasmFunction(name, { row: 'i32', out: 'i32' });
  const [x, out] = [f.let('x', f.param('row')), f.let('out', f.param('out'))];
  const at = f.local('i32', 'place');
  f.for('group', i32(0), depth / group, 1, () => {
    const exponent = exponentOf(f, x, group);
    const scale = f.let('scale', op('i32x4.sub', i32x4(bits(254 + BELOW)), exponent));
    const unit = f.let('unit', op('i32x4.sub', exponent, i32x4(bits(BELOW))));
    f.do(memory('v128.store', record.unit, out, unit));
    const starts = Array.from({ length: inParts ? digits : 0 }, () => f.let('start', i32x4(0)));
    f.set(at, out);
    const step = inParts ? 16 : 8;
    f.for('k', i32(0), group, step, () => {
      const values = Array.from({ length: step / 4 }, (_, i) =>
        digitsOf(f, digits, memory('v128.load', 16 * i, x), scale),
      );
      for (let digit = 0; digit < digits; digit++) {
        const eights = Array.from({ length: step / 8 }, (_, i) =>
          f.let(
            'digits',
            op('i16x8.narrow_i32x4_s', values[2 * i]![digit]!, values[2 * i + 1]![digit]!),
          ),
        );
        const place = (part: number): number => record.values + 16 * (digits * part + digit);
        if (!inParts) {
          f.do(memory('v128.store', place(0), at, eights[0]!));
          continue;
        }
        for (const fours of values)
          f.set(
            starts[digit]!,
            op('i32x4.sub', starts[digit]!, op('i32x4.shl', fours[digit]!, i32(3))),
          );
        for (const part of [0, 1]) {
          const lanes = Array.from({ length: 16 }, (_, i) => 4 * (i >> 1) + 2 * part + (i & 1));
          f.do(memory('v128.store', place(part), at, shuffle(lanes, eights[0]!, eights[1]!)));
        }
      }
      advance(f, x, 4 * step);
      advance(f, at, 2 * step * digits);
    });
    if (inParts) {
      const parts = starts.map((start, digit) => {
        f.do(memory('v128.store', record.start(digit), out, start));
        const value = op('f32x4.convert_i32x4_s', start);
        return op('f32x4.mul', value, f32x4(-(2 ** (-3 - digit * LOW_BITS))));
      });
      const total = parts.reduce((a, b) => op('f32x4.add', a, b));
      f.do(memory('v128.store', record.sum, out, op('f32x4.mul', total, unit)));
    }
    advance(f, out, record.bytes);
  });
  return f;
}
