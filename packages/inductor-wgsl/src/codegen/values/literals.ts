/**
 * @file WGSL literals that denote exactly the value meant.
 *
 * WGSL rejects constant expressions that are NaN or infinite and lets compilers assume that neither
 * occurs, so those come from the bits of private variables (`special-values` helpers), which no
 * compiler may fold.
 */
import type { ScalarType } from './wgsl-types.js';

const I32_MIN = -2147483648;
const I32_MAX = 2147483647;
const F32_MAX = 3.4028234663852886e38;

/** Shortest decimal that rounds to the same float32. */
function shortestF32(value: number): string {
  const rounded = Math.fround(value);
  // Shorter decimals lie beyond it, which WGSL rejects although they round to it.
  if (Math.abs(rounded) === F32_MAX) return `${rounded < 0 ? '-' : ''}0x1.fffffep+127`;
  for (let digits = 1; digits < 9; digits++) {
    const text = rounded.toPrecision(digits);
    if (Math.fround(Number(text)) === rounded) return normalise(String(Number(text)));
  }
  return normalise(String(Number(rounded.toPrecision(9))));
}

/** Makes a decimal a WGSL float literal: `3` → `3.0`. */
function normalise(text: string): string {
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/**
 * Literal of a compute type; `helper` names the accessor of a special value (`inf_f32`) in use.
 * Integers outside 32 bits are lost, but for the limits of int64, which saturate.
 */
export function literal(
  value: number,
  type: ScalarType,
  helper: (name: 'inf' | 'nan') => string,
): string {
  switch (type) {
    case 'f32': {
      const rounded = Math.fround(value);
      if (Number.isNaN(rounded)) return helper('nan');
      if (rounded === Infinity) return helper('inf');
      if (rounded === -Infinity) return `(-${helper('inf')})`;
      if (Object.is(rounded, -0)) return '(-0.0)';
      const text = shortestF32(rounded);
      return rounded < 0 ? `(${text})` : text;
    }
    case 'i32': {
      if (value > I32_MAX && value <= Number.MAX_SAFE_INTEGER) return '(-2147483647 - 1)';
      const integer = Math.min(I32_MAX, Math.max(I32_MIN, Math.trunc(value)));
      if (integer === I32_MIN) return '(-2147483647 - 1)';
      return integer < 0 ? `(${integer})` : `${integer}`;
    }
    case 'u32':
      return `${value >>> 0}u`;
    case 'bool':
      return value !== 0 ? 'true' : 'false';
  }
}
