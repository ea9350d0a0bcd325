/**
 * @file `assertClose`: PyTorch's comparison of tensors.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { type DType, type Tensor, isFloatingPoint, isTensor } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';

/** Relative and absolute tolerance: |actual - expected| ≤ atol + rtol · |expected|. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Defaults of `torch.testing.assert_close`. */
export const DEFAULT_TOLERANCES: Readonly<Partial<Record<DType, Tolerance>>> = {
  float16: { rtol: 1e-3, atol: 1e-5 },
  bfloat16: { rtol: 1.6e-2, atol: 1e-5 },
  float32: { rtol: 1.3e-6, atol: 1e-5 },
  float64: { rtol: 1e-7, atol: 1e-7 },
};

const EXACT: Tolerance = { rtol: 0, atol: 0 };

/** What to compare besides values. */
export interface CloseOptions extends Partial<Tolerance> {
  readonly checkDType?: boolean;
  readonly checkStride?: boolean;
  readonly checkDevice?: boolean;
  /** Prefix of the error message. */
  readonly message?: string;
}

const CLOSE_OPTIONS: OptionNames<CloseOptions> = {
  rtol: true,
  atol: true,
  checkDType: true,
  checkStride: true,
  checkDevice: true,
  message: true,
};

function fail(options: CloseOptions, text: string): never {
  throw new Error(`${options.message === undefined ? '' : `${options.message}: `}${text}`);
}

/** Values of a CPU tensor, or of a device tensor after a download. */
export async function valuesOf(tensor: Tensor): Promise<Float64Array> {
  if (tensor.device === 'cpu') return readNumbers(tensor);
  return Float64Array.from(await tensor.toTypedArray(), Number);
}

function checkMeta(actual: Tensor, expected: Tensor, options: CloseOptions): void {
  if (actual.sizes.join() !== expected.sizes.join())
    fail(
      options,
      `The values for attribute 'shape' do not match: [${actual.sizes.join(', ')}] != [${expected.sizes.join(', ')}].`,
    );
  if (options.checkDType !== false && actual.dtype !== expected.dtype)
    fail(
      options,
      `The values for attribute 'dtype' do not match: ${actual.dtype} != ${expected.dtype}.`,
    );
  if (options.checkStride === true && actual.strides.join() !== expected.strides.join()) {
    fail(
      options,
      `The values for attribute 'stride()' do not match: (${actual.strides.join(', ')}) != (${expected.strides.join(', ')}).`,
    );
  }
  if (options.checkDevice === true && actual.device !== expected.device)
    fail(
      options,
      `The values for attribute 'device' do not match: ${actual.device} != ${expected.device}.`,
    );
}

/** Compares values; NaN equals NaN. Throws with counts and the worst differences. */
export function compareValues(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
  options: CloseOptions = {},
): void {
  let mismatched = 0;
  let worst = -1;
  let worstAbs = -1;
  let worstRel = 0;
  for (let i = 0; i < expected.length; i++) {
    const a = actual[i]!;
    const e = expected[i]!;
    if (Object.is(a, e) || a === e || (Number.isNaN(a) && Number.isNaN(e))) continue;
    const difference = Math.abs(a - e);
    if (difference <= tolerance.atol + tolerance.rtol * Math.abs(e)) continue;
    mismatched++;
    if (!(difference <= worstAbs)) {
      worst = i;
      worstAbs = difference;
      worstRel = difference / Math.abs(e);
    }
  }
  if (mismatched === 0) return;
  const percent = ((100 * mismatched) / expected.length).toFixed(1);
  fail(
    options,
    `Tensor-likes are not close! Mismatched elements: ${mismatched} / ${expected.length} (${percent}%). Greatest absolute difference: ${worstAbs} at flat index ${worst} (actual ${actual[worst]}, expected ${expected[worst]}; up to ${tolerance.atol} allowed), relative ${worstRel} (up to ${tolerance.rtol} allowed).`,
  );
}

function toleranceOf(actual: Tensor, expected: Tensor, options: CloseOptions): Tolerance {
  if (options.rtol !== undefined || options.atol !== undefined)
    return { rtol: options.rtol ?? 0, atol: options.atol ?? 0 };
  const of = (dtype: DType): Tolerance =>
    isFloatingPoint(dtype) ? DEFAULT_TOLERANCES[dtype]! : EXACT;
  const a = of(actual.dtype);
  const e = of(expected.dtype);
  return a.rtol >= e.rtol ? a : e;
}

/** Called for each pair of tensors. */
type TensorCheck = (actual: Tensor, expected: Tensor, options: CloseOptions) => void;

/** Compares structures; tensors with `check`. */
function compareTrees(
  actual: unknown,
  expected: unknown,
  options: CloseOptions,
  check: TensorCheck,
): void {
  const inner = (a: unknown, e: unknown, at: string): void =>
    compareTrees(a, e, { ...options, message: `${options.message ?? ''}${at}` }, check);
  if (isTensor(actual) && isTensor(expected)) {
    checkMeta(actual, expected, options);
    check(actual, expected, options);
  } else if (Array.isArray(actual) && Array.isArray(expected)) {
    if (actual.length !== expected.length)
      fail(options, `The length of the sequences mismatch: ${actual.length} != ${expected.length}`);
    actual.forEach((item, i) => inner(item, expected[i], `[${i}]`));
  } else if (isRecord(actual) && isRecord(expected)) {
    const [keys, wanted] = [actual, expected].map((record) => Object.keys(record).sort().join());
    if (keys !== wanted)
      fail(options, `The keys of the mappings do not match: ${keys} != ${wanted}`);
    for (const key of Object.keys(actual)) inner(actual[key], expected[key], `['${key}']`);
  } else if (typeof actual === 'number' && typeof expected === 'number') {
    compareValues(
      [actual],
      [expected],
      { rtol: options.rtol ?? 1e-7, atol: options.atol ?? 1e-7 },
      options,
    );
  } else if (!Object.is(actual, expected)) {
    fail(options, `${String(actual)} is not ${String(expected)}`);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  if (value === null || typeof value !== 'object') return false;
  const proto: unknown = Object.getPrototypeOf(value);
  return proto === Object.prototype || proto === null;
}

/**
 * Asserts that two tensors (or equally nested arrays and records of tensors and numbers) are close, with
 * PyTorch's default tolerances per dtype. Tensors on `cpu` only; see `assertCloseAsync`.
 *
 * @see torch.testing.assert_close
 */
export function assertClose(actual: unknown, expected: unknown, options: CloseOptions = {}): void {
  checkOptionNames('assertClose', options, CLOSE_OPTIONS);
  compareTrees(actual, expected, options, (a, e, at) =>
    compareValues(readNumbers(a), readNumbers(e), toleranceOf(a, e, at), at),
  );
}

/** `assertClose` for tensors on any device, on one or on both sides. */
export async function assertCloseAsync(
  actual: unknown,
  expected: unknown,
  options: CloseOptions = {},
): Promise<void> {
  checkOptionNames('assertCloseAsync', options, CLOSE_OPTIONS);
  const pairs: [Tensor, Tensor, CloseOptions][] = [];
  compareTrees(actual, expected, options, (...pair) => void pairs.push(pair));
  for (const [a, e, at] of pairs)
    compareValues(await valuesOf(a), await valuesOf(e), toleranceOf(a, e, at), at);
}
