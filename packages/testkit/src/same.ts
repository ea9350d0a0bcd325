/**
 * @file `same`: whether a compiled result is as good as eager's, judged by float64 where they differ.
 *
 * Modelled on torch._dynamo.utils.same, its rules and constants included.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import { valuesOf } from './assert-close.js';

/** How results are compared. */
export interface SameOptions {
  /** The result in float64, in the structure of `expected`: decides where the two are not close. */
  readonly fp64Ref?: unknown;
  /** Relative and absolute tolerance of closeness (default 1e-4). */
  readonly tol?: number;
  /** Whether NaN equals NaN (default false). */
  readonly equalNan?: boolean;
  /** Whether dtypes must be equal (default true). */
  readonly exactDtype?: boolean;
  /** Compare directions instead of values: a cosine of at least 0.99 (default false). */
  readonly cosSimilarity?: boolean;
}

/**
 * Compares tensors of any device, numbers, and arrays, records and Maps of them. Tensors are the same if
 * they are close, or if the error of `actual` against `fp64Ref` is at most a small multiple of that of
 * `expected`.
 *
 * @example expect(await same(model.call(x), compiled(x), { fp64Ref })).toBe(true);
 * @see torch._dynamo.utils.same
 */
export async function same(
  expected: unknown,
  actual: unknown,
  options: SameOptions = {},
): Promise<boolean> {
  const { fp64Ref = expected } = options;
  if (isTensor(expected)) {
    if (!isTensor(actual)) return false;
    return sameTensors(expected, actual, isTensor(fp64Ref) ? fp64Ref : expected, options);
  }
  if (typeof expected === 'number')
    return typeof actual === 'number' && isClose(expected, actual, options);
  if (typeof expected !== 'object' || expected === null) return Object.is(expected, actual);
  const entries = entriesOf(expected);
  const others = new Map(typeof actual === 'object' && actual !== null ? entriesOf(actual) : []);
  if (Array.isArray(expected) !== Array.isArray(actual) || entries.length !== others.size)
    return false;
  const references = new Map(entriesOf(fp64Ref as object));
  for (const [key, value] of entries) {
    if (!others.has(key)) return false;
    const inner = { ...options, fp64Ref: references.get(key) };
    if (!(await same(value, others.get(key), inner))) return false;
  }
  return true;
}

function entriesOf(value: object): [unknown, unknown][] {
  if (value instanceof Map) return [...value];
  return Object.entries(value);
}

async function sameTensors(
  expected: Tensor,
  actual: Tensor,
  reference: Tensor,
  options: SameOptions,
): Promise<boolean> {
  if (options.exactDtype !== false && expected.dtype !== actual.dtype) return false;
  if (expected.sizes.join() !== actual.sizes.join()) return false;
  const [ref, res] = [await valuesOf(expected), await valuesOf(actual)];
  if (options.cosSimilarity === true)
    return allClose(ref, res, { ...options, equalNan: true }) || cosine(ref, res) >= 0.99;
  if (allClose(ref, res, options)) return true;
  if (reference.dtype !== 'float64' || expected.dtype === 'bool') return false;
  const exact = await valuesOf(reference);
  // Eager lost a value to NaN that the compiled code has.
  if (!hasNan(exact) && !hasNan(res) && hasNan(ref) && allClose(exact, res, { tol: 4e-2 }))
    return true;
  const [refError, resError] = [rmse(exact, ref), rmse(exact, res)];
  if (options.equalNan === true && Number.isNaN(refError) && Number.isNaN(resError)) return true;
  const { tol = 1e-4 } = options;
  return resError <= multiplierOf(actual, tol) * refError + tol / 10;
}

/** How much larger than eager's an error may be: noise weighs more in small tensors and low precision. */
function multiplierOf({ dtype, sizes, numel }: Tensor, tol: number): number {
  const isPointwise = sizes.length === 4 && sizes[2] === 1 && sizes[3] === 1;
  const isHalf = dtype === 'float16' || dtype === 'bfloat16';
  return isHalf || numel < 1000 || isPointwise || tol >= 2e-2 ? 3 : 2;
}

function isClose(expected: number, actual: number, options: SameOptions): boolean {
  if (expected === actual) return true;
  if (Number.isNaN(expected) && Number.isNaN(actual)) return options.equalNan === true;
  const { tol = 1e-4 } = options;
  return Math.abs(actual - expected) <= tol + tol * Math.abs(actual);
}

function allClose(
  expected: ArrayLike<number>,
  actual: ArrayLike<number>,
  options: SameOptions,
): boolean {
  for (let i = 0; i < expected.length; i++)
    if (!isClose(expected[i]!, actual[i]!, options)) return false;
  return true;
}

function hasNan(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) if (Number.isNaN(values[i])) return true;
  return false;
}

/** Root of the mean squared error. */
function rmse(exact: ArrayLike<number>, values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < exact.length; i++) sum += (exact[i]! - values[i]!) ** 2;
  return Math.sqrt(sum / exact.length);
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, normA, normB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i]! * b[i]!;
    normA += a[i]! ** 2;
    normB += b[i]! ** 2;
  }
  return dot / Math.max(Math.sqrt(normA) * Math.sqrt(normB), 1e-6);
}
