/**
 * @file Arithmetic on arrays of float16 and bfloat16: each step is rounded to the type, half to even.
 *
 * Two values of either type fit a float32 with room to spare, so that rounding its result once more gives the
 * correctly rounded one.
 */

/** Types of two bytes that MPI libraries do not know. */
export type HalfType = 'float16' | 'bfloat16';

/** What two values become. */
export type HalfOp = 'sum' | 'product' | 'min' | 'max';

const single = new Float32Array(1);
const bits = new Int32Array(single.buffer);

/** The float16 nearest to the float32 with these bits. */
function roundToFloat16(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const magnitude = word & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x47800000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rebased = magnitude - 0x38000000;
    return sign | ((rebased + 0xfff + ((rebased >>> 13) & 1)) >>> 13);
  }
  // Adding 0.5 moves the smallest step of float16 to the last bit of the float32, which rounds there.
  bits[0] = magnitude;
  single[0] = single[0]! + 0.5;
  return sign | (bits[0] - 0x3f000000);
}

/** The bfloat16 nearest to the float32 with these bits. */
function roundToBfloat16(word: number): number {
  if ((word & 0x7fffffff) > 0x7f800000) return ((word >>> 16) & 0x8000) | 0x7fc0;
  return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
}

function float16Value(code: number): number {
  const exponent = (code >> 10) & 31;
  const fraction = code & 0x3ff;
  const sign = code & 0x8000 ? -1 : 1;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0
    ? sign * fraction * 2 ** -24
    : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function bfloat16Value(code: number): number {
  bits[0] = code << 16;
  return single[0]!;
}

const ROUND = { float16: roundToFloat16, bfloat16: roundToBfloat16 } as const;
const VALUE = { float16: float16Value, bfloat16: bfloat16Value } as const;
const tables: Partial<Record<HalfType, Float32Array>> = {};

/** The value of every code. */
function tableOf(type: HalfType): Float32Array {
  return (tables[type] ??= Float32Array.from({ length: 65536 }, (_, code) => VALUE[type](code)));
}

/** `to[i] = to[i] op from[i]`. */
export function combineHalves(
  type: HalfType,
  op: HalfOp,
  from: Uint16Array,
  to: Uint16Array,
): void {
  const table = tableOf(type);
  const round = ROUND[type];
  const count = to.length;
  if (op === 'sum') {
    for (let i = 0; i < count; i++) {
      single[0] = table[to[i]!]! + table[from[i]!]!;
      to[i] = round(bits[0]!);
    }
  } else if (op === 'product') {
    for (let i = 0; i < count; i++) {
      single[0] = table[to[i]!]! * table[from[i]!]!;
      to[i] = round(bits[0]!);
    }
  } else {
    const wanted = op === 'min' ? -1 : 1;
    for (let i = 0; i < count; i++)
      if ((table[from[i]!]! - table[to[i]!]!) * wanted > 0) to[i] = from[i]!;
  }
}

/** `values[i] = values[i] / divisor`. */
export function divideHalves(type: HalfType, values: Uint16Array, divisor: number): void {
  const table = tableOf(type);
  const round = ROUND[type];
  for (let i = 0; i < values.length; i++) {
    single[0] = table[values[i]!]! / divisor;
    values[i] = round(bits[0]!);
  }
}
