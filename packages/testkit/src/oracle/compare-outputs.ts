/**
 * @file Comparing results with what PyTorch recorded, and collecting the differences.
 */
import { type DType, type Tensor } from '@tessera/tensor';
import { readNumbers, sameNumbers } from '@tessera/tensor/internal';
import { DEFAULT_TOLERANCES, type Tolerance } from '../assert-close.js';
import type { CaseDeviation } from './deviations.js';
import { oracleTensor } from './oracle-arguments.js';
import { tensorIn } from './tensor-in.js';
import {
  type OracleFile,
  type OracleTensor,
  type OracleValue,
  isOracleTensor,
} from './oracle-file.js';

const EXACT: Tolerance = { rtol: 0, atol: 0 };

type Tolerances = Partial<Record<DType, Tolerance>>;

/** Differences of one case. */
export class OracleComparison {
  readonly differences: string[] = [];

  constructor(
    private readonly file: OracleFile,
    private readonly deviation: CaseDeviation | undefined,
  ) {}

  /** Compares shape, stride and dtype only. */
  layout(what: string, actual: unknown, expected: OracleValue): void {
    this.walk(what, actual, expected, () => null);
  }

  /** Compares output number `index`. */
  values(what: string, actual: unknown, expected: OracleValue, index: number): void {
    const { unspecified, random, tolerance } = this.deviation ?? {};
    const skipped =
      random === true ||
      unspecified === true ||
      (Array.isArray(unspecified) && unspecified.includes(index));
    this.walk(what, actual, expected, (tensor, reference) =>
      skipped ? null : this.valueDifference(tensor, reference, tolerance),
    );
  }

  /** Compares a gradient; its layout is not part of the contract. */
  gradient(what: string, actual: Tensor, expected: OracleTensor, arg: string): void {
    const { skipGradientOf, random, gradTolerance, tolerance } = this.deviation ?? {};
    if (skipGradientOf?.includes(arg) === true) return;
    const dense = { ...expected, stride: undefined };
    this.walk(what, actual.contiguous(), dense, (tensor, reference) =>
      random === true ? null : this.valueDifference(tensor, reference, gradTolerance ?? tolerance),
    );
  }

  private walk(
    what: string,
    actual: unknown,
    expected: OracleValue,
    compare: (actual: Tensor, expected: OracleTensor) => string | null,
  ): void {
    if (expected === null) return;
    if (Array.isArray(expected)) {
      const list = Array.isArray(actual) ? actual : [];
      if (list.length !== expected.length)
        this.differences.push(`${what}: ${list.length} tensors, expected ${expected.length}`);
      else expected.forEach((item, i) => this.walk(`${what}[${i}]`, list[i], item, compare));
    } else if (!isOracleTensor(expected)) {
      const plain =
        typeof expected === 'object' && 'float' in expected
          ? Number(expected.float.replace('inf', 'Infinity'))
          : expected;
      if (!Object.is(actual, plain))
        this.differences.push(`${what}: ${String(actual)}, expected ${JSON.stringify(expected)}`);
    } else {
      const tensor = tensorIn(actual, null);
      const difference = layoutDifference(tensor, expected) ?? compare(tensor, expected);
      if (difference !== null) this.differences.push(`${what}: ${difference}`);
    }
  }

  private valueDifference(
    actual: Tensor,
    reference: OracleTensor,
    tolerances: Tolerances | undefined,
  ): string | null {
    const tolerance = tolerances?.[reference.dtype] ?? DEFAULT_TOLERANCES[reference.dtype] ?? EXACT;
    const a = readNumbers(actual);
    const e = readNumbers(oracleTensor(this.file, reference));
    let first: string | null = null;
    let count = 0;
    for (let i = 0; i < e.length; i++) {
      if (a[i] === e[i] || (Number.isNaN(a[i]) && Number.isNaN(e[i]))) continue;
      if (Number.isNaN(e[i]) && this.deviation?.lostAsNaN === true) continue;
      if (Math.abs(a[i]! - e[i]!) <= tolerance.atol + tolerance.rtol * Math.abs(e[i]!)) continue;
      count++;
      first ??= `element ${i} is ${a[i]}, expected ${e[i]}`;
    }
    return first === null ? null : `${first} (${count} of ${e.length} differ)`;
  }
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
function layoutDifference(actual: Tensor, { shape, dtype, stride }: OracleTensor): string | null {
  if (!sameNumbers(actual.sizes, shape))
    return `shape [${actual.sizes.join(', ')}], expected [${shape.join(', ')}]`;
  if (actual.dtype !== dtype) return `dtype ${actual.dtype}, expected ${dtype}`;
  if (shape.includes(0)) return null;
  const expected = stride ?? rowMajor(shape);
  const differs = shape.some((size, i) => size > 1 && actual.strides[i] !== expected[i]);
  return differs
    ? `strides [${actual.strides.join(', ')}], expected [${expected.join(', ')}] for shape [${shape.join(', ')}]`
    : null;
}
