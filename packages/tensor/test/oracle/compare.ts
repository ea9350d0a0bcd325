/**
 * @file Comparing tensors as `torch.testing.assert_close` does.
 */
import { type DType, type Tensor, readNumbers, sameNumbers } from '../../src/index.js';

/** How far two numbers may be apart: |actual - expected| ≤ atol + rtol · |expected|. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

const TOLERANCES: Partial<Record<DType, Tolerance>> = {
  float64: { rtol: 1e-7, atol: 1e-7 },
  float32: { rtol: 1.3e-6, atol: 1e-5 },
  float16: { rtol: 1e-3, atol: 1e-5 },
  bfloat16: { rtol: 1.6e-2, atol: 1e-5 },
};

/** PyTorch's default tolerance of a dtype; exact for integers and bools. */
export function defaultTolerance(dtype: DType): Tolerance {
  return TOLERANCES[dtype] ?? { rtol: 0, atol: 0 };
}

/** What two tensors are compared by. */
export interface Expected {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Row-major if absent. */
  readonly stride?: readonly number[];
}

function rowMajor(shape: readonly number[]): number[] {
  const out = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    out[i] = step;
    step *= Math.max(shape[i]!, 1);
  }
  return out;
}

/** Difference in shape, dtype or stride (of dims that have one), or null. */
export function layoutDifference(actual: Tensor, expected: Expected): string | null {
  if (!sameNumbers(actual.sizes, expected.shape))
    return `shape [${actual.sizes.join(', ')}], expected [${expected.shape.join(', ')}]`;
  if (actual.dtype !== expected.dtype) return `dtype ${actual.dtype}, expected ${expected.dtype}`;
  if (expected.shape.includes(0)) return null;
  const stride = expected.stride ?? rowMajor(expected.shape);
  const differs = expected.shape.some((size, i) => size > 1 && actual.strides[i] !== stride[i]);
  return differs
    ? `strides [${actual.strides.join(', ')}], expected [${stride.join(', ')}] for shape [${expected.shape.join(', ')}]`
    : null;
}

/** First difference beyond the tolerance in values, or null. NaN equals NaN. */
export function valueDifference(
  actual: Tensor,
  expected: Tensor,
  tolerance: Tolerance = defaultTolerance(expected.dtype),
): string | null {
  const a = readNumbers(actual);
  const e = readNumbers(expected);
  let worst: string | null = null;
  let count = 0;
  for (let i = 0; i < e.length; i++) {
    if (Object.is(a[i], e[i]) || a[i] === e[i] || (Number.isNaN(a[i]) && Number.isNaN(e[i])))
      continue;
    if (Math.abs(a[i]! - e[i]!) <= tolerance.atol + tolerance.rtol * Math.abs(e[i]!)) continue;
    count++;
    worst ??= `element ${i} is ${a[i]}, expected ${e[i]}`;
  }
  return worst === null ? null : `${worst} (${count} of ${e.length} differ)`;
}
