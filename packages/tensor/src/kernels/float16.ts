/**
 * @file Conversions of 16-bit floats to and from JavaScript numbers, round to nearest even.
 */

const scratchF32 = new Float32Array(1);
const scratchU32 = new Uint32Array(scratchF32.buffer);

/** Number of an IEEE half given as 16 bits. */
export function halfToNumber(bits: number): number {
  const magnitude = bits & 0x7fff;
  if (magnitude > 0x7c00) return NaN;
  const sign = bits & 0x8000 ? -1 : 1;
  if (magnitude === 0x7c00) return sign * Infinity;
  if (magnitude < 0x400) return sign * magnitude * 2 ** -24;
  // The exponent of a float32 counts from elsewhere.
  scratchU32[0] = (magnitude << 13) + 0x38000000;
  return sign * scratchF32[0]!;
}

/** Bits of the half nearest to a number. */
export function numberToHalf(value: number): number {
  if (Number.isNaN(value)) return 0x7e00;
  scratchF32[0] = value;
  // Of a float32 whose half is normal the exponent is moved and the mantissa rounded; most numbers are such.
  if (scratchF32[0] === value) {
    const bits = scratchU32[0]!;
    const magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x38800000 && magnitude < 0x477ff000)
      return (
        ((bits >>> 16) & 0x8000) |
        ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
      );
  }
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 2 ** -14) return sign | roundHalfEven(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  // log2 may be off by one next to a power of two.
  const e =
    magnitude < 2 ** exponent
      ? exponent - 1
      : magnitude >= 2 ** (exponent + 1)
        ? exponent + 1
        : exponent;
  const mantissa = roundHalfEven((magnitude / 2 ** e - 1) * 1024);
  return sign | (((e + 15) << 10) + mantissa);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5) return floor + 1;
  if (rest < 0.5) return floor;
  return floor + (floor & 1);
}

/** Number of a bfloat16 given as 16 bits. */
export function bfloatToNumber(bits: number): number {
  scratchU32[0] = bits << 16;
  return scratchF32[0]!;
}

/** Bits of the bfloat16 nearest to a number (rounded to float32 first, as PyTorch does). */
export function numberToBfloat(value: number): number {
  if (Number.isNaN(value)) return 0x7fc0;
  scratchF32[0] = value;
  const bits = scratchU32[0]!;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
