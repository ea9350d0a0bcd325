/**
 * @file The reductions of the reference interpreter.
 */
import type { DType } from '@tessera/tensor';
import type { ReduceOp } from './expr.js';
import { evalScalar, extreme, isFloat, toComputeType } from './scalar-eval.js';

interface ResultCell {
  value: number;
}

/** One running reduction; `finish` writes its results to their cells. */
export class Accumulator {
  private count = 0;
  private first = 0;
  private second = 0;

  constructor(
    private readonly op: ReduceOp,
    private readonly dtype: DType,
    private readonly results: readonly ResultCell[],
  ) {}

  reset(): void {
    this.count = 0;
    this.second = 0;
    this.first = INITIAL[this.op];
    if (!isFloat(this.dtype) && (this.op === 'max' || this.op === 'min'))
      this.first = this.op === 'max' ? lowest(this.dtype) : highest(this.dtype);
  }

  add(x: number): void {
    const index = this.count++;
    switch (this.op) {
      case 'sum':
        this.first = isFloat(this.dtype)
          ? this.first + x
          : toComputeType(this.first + x, this.dtype);
        break;
      case 'prod':
        this.first = isFloat(this.dtype)
          ? this.first * x
          : evalScalar('mul', this.dtype, this.dtype, this.first, x, 0);
        break;
      case 'max':
        this.first = extreme(this.first, x, true);
        break;
      case 'min':
        this.first = extreme(this.first, x, false);
        break;
      case 'any':
        if (x !== 0) this.first = 1;
        break;
      case 'all':
        if (x === 0) this.first = 0;
        break;
      case 'argmax':
      case 'argmin':
        if (index === 0 || better(x, this.second, this.op === 'argmax')) {
          this.first = index;
          this.second = x;
        }
        break;
      case 'welford': {
        const delta = x - this.first;
        this.first += delta / this.count;
        this.second += delta * (x - this.first);
        break;
      }
      case 'online_softmax':
        this.addSoftmax(x);
        break;
    }
  }

  finish(): void {
    const [first, second] = this.results;
    first!.value =
      this.op === 'argmax' || this.op === 'argmin'
        ? this.first
        : toComputeType(this.first, this.dtype);
    if (second !== undefined) {
      // A row of only -inf: exp(-inf - -inf) is NaN in every term.
      second.value = toComputeType(
        this.op === 'online_softmax' && this.count > 0 && this.first === -Infinity
          ? NaN
          : this.second,
        this.dtype,
      );
    }
  }

  private addSoftmax(x: number): void {
    const max = extreme(this.first, x, true);
    if (max !== this.first && this.second !== 0) this.second *= Math.exp(this.first - max);
    this.first = max;
    if (max !== -Infinity) this.second += Math.exp(x - max);
  }
}

const INITIAL: Readonly<Record<ReduceOp, number>> = {
  sum: 0,
  prod: 1,
  max: -Infinity,
  min: Infinity,
  any: 0,
  all: 1,
  argmax: 0,
  argmin: 0,
  welford: 0,
  online_softmax: -Infinity,
};

function better(x: number, best: number, larger: boolean): boolean {
  if (Number.isNaN(best)) return false;
  return Number.isNaN(x) || (larger ? x > best : x < best);
}

const INT_BITS: Partial<Record<DType, number>> = { int8: 7, int16: 15, int32: 31, int64: 63 };

/** Smallest value of an integer type. */
export function lowest(dtype: DType): number {
  return dtype === 'bool' || dtype === 'uint8' ? 0 : -(2 ** INT_BITS[dtype]!);
}

/** Largest value of an integer type (2^63 for int64, which is the nearest double). */
export function highest(dtype: DType): number {
  return dtype === 'bool'
    ? 1
    : dtype === 'uint8'
      ? 255
      : dtype === 'int64'
        ? 2 ** 63
        : 2 ** INT_BITS[dtype]! - 1;
}
