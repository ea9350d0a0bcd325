/**
 * @file Keys: unsigned integers in the order of the elements that they stand for.
 *
 * NaN is the largest element, and equal to every other NaN; 0 and -0 are equal. Of the bits of negative floats all are turned,
 * of other signed numbers the sign.
 */
import type { DType } from '@tessera/tensor';
import { i32, i64, memory, op, select } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';

/** The largest finite bits of float dtypes, and infinity's; 16 bits stand in the upper half of a word. */
const INFINITIES: Readonly<Partial<Record<DType, number>>> = {
  float16: 0x7c000000,
  bfloat16: 0x7f800000,
  float32: 0x7f800000,
};

/** Whether the keys of a dtype have 64 bits; those of others have 32. */
export function hasLongKeys(dtype: DType): boolean {
  return dtype === 'float64' || dtype === 'int64';
}

/** Any function that keys are computed in. */
type Body = WasmFunction<ResultType>;

function shortKey(f: Body, dtype: DType, address: Code<'i32'>): Code<'i32'> {
  const infinity = INFINITIES[dtype];
  if (infinity === undefined) return integerKey(dtype, address);
  const bits = f.let(
    'bits',
    dtype === 'float32'
      ? memory('i32.load', 0, address)
      : op('i32.shl', memory('i32.load16_u', 0, address), i32(16)),
  );
  const size = f.let('size', op('i32.and', bits, i32(0x7fffffff)));
  f.set(bits, select(bits, i32(0), size));
  const turned = op('i32.or', op('i32.shr_s', bits, i32(31)), i32(1 << 31));
  // A NaN of 16 bits has no more digits than the other elements.
  const nan = i32(dtype === 'float32' ? -1 : -1 << 16);
  return select(nan, op('i32.xor', bits, turned), op('i32.gt_u', size, i32(infinity)));
}

function integerKey(dtype: DType, address: Code<'i32'>): Code<'i32'> {
  switch (dtype) {
    case 'int32':
      return op('i32.xor', memory('i32.load', 0, address), i32(1 << 31));
    case 'int16':
      return op('i32.xor', memory('i32.load16_u', 0, address), i32(1 << 15));
    case 'int8':
      return op('i32.xor', memory('i32.load8_u', 0, address), i32(1 << 7));
    default:
      return memory('i32.load8_u', 0, address);
  }
}

function longKey(f: Body, dtype: DType, address: Code<'i32'>): Code<'i64'> {
  const sign = 1n << 63n;
  if (dtype === 'int64') return op('i64.xor', memory('i64.load', 0, address), i64(sign));
  const bits = f.let('bits', memory('i64.load', 0, address));
  const size = f.let('size', op('i64.and', bits, i64(sign - 1n)));
  f.set(bits, select(i64(0), bits, op('i64.eqz', size)));
  const turned = op('i64.or', op('i64.shr_s', bits, i64(63)), i64(sign));
  const isNan = op('i64.gt_u', size, i64(0x7ffn << 52n));
  return select(i64(-1), op('i64.xor', bits, turned), isNan);
}

/** The key of the element at an address, with all bits turned if `flip` is -1, not 0. */
export function wholeKey(
  f: Body,
  dtype: DType,
  address: Code<'i32'>,
  flip: Local<'i32'>,
): Code<'i64'> {
  return hasLongKeys(dtype)
    ? op('i64.xor', longKey(f, dtype, address), op('i64.extend_i32_s', flip))
    : op('i64.extend_i32_u', halfOfKey(f, dtype, address, flip, 'lower'));
}

/** 32 bits of a key; a short one has no more. */
export function halfOfKey(
  f: Body,
  dtype: DType,
  address: Code<'i32'>,
  flip: Local<'i32'>,
  half: 'lower' | 'upper',
): Code<'i32'> {
  if (!hasLongKeys(dtype)) return op('i32.xor', shortKey(f, dtype, address), flip);
  const key = longKey(f, dtype, address);
  const bits = half === 'lower' ? key : op('i64.shr_u', key, i64(32));
  return op('i32.xor', op('i32.wrap_i64', bits), flip);
}
