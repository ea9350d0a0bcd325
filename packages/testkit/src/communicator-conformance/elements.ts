/**
 * @file Elements of every dtype as numbers and as bytes, and what a reduction makes of numbers.
 */
import { type HostBuffer, type ReduceOp, arrayBuffer } from '@tessera/distributed';
import { type DType, isFloatingPoint, itemSize } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';

/** All dtypes that tensors have. */
export const ALL_DTYPES: readonly DType[] = [
  'float32',
  'float64',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
];

/** The reductions that mean something for a dtype. */
export function reductionsOf(dtype: DType): readonly ReduceOp[] {
  const all = ['sum', 'product', 'min', 'max'] as const;
  return isFloatingPoint(dtype) ? [...all, 'avg'] : [...all, 'band', 'bor', 'bxor'];
}

type Numbers = {
  [index: number]: number;
  readonly length: number;
};

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int16: Int16Array,
  int8: Int8Array,
  uint8: Uint8Array,
  bool: Uint8Array,
  float16: Uint16Array,
  bfloat16: Uint16Array,
} as const;

/** A buffer of `dtype` with these values. */
export function bufferOf(dtype: DType, values: readonly number[]): HostBuffer {
  const bytes = new Uint8Array(values.length * itemSize(dtype));
  if (dtype === 'int64') {
    new BigInt64Array(bytes.buffer).set(values.map(BigInt));
  } else {
    const code =
      dtype === 'float16' ? numberToHalf : dtype === 'bfloat16' ? numberToBfloat : Number;
    const array: Numbers = new ARRAYS[dtype](bytes.buffer);
    for (const [i, value] of values.entries()) array[i] = code(value);
  }
  return arrayBuffer(bytes, dtype);
}

/** A buffer of `length` zeros. */
export function zeroBuffer(dtype: DType, length: number): HostBuffer {
  return arrayBuffer(new Uint8Array(length * itemSize(dtype)), dtype);
}

/** The values of a buffer. */
export function valuesOf(buffer: HostBuffer): number[] {
  const { dtype } = buffer;
  const bytes = buffer.view().slice();
  if (dtype === 'int64') return Array.from(new BigInt64Array(bytes.buffer), Number);
  const value = dtype === 'float16' ? halfToNumber : dtype === 'bfloat16' ? bfloatToNumber : Number;
  return Array.from<number, number>(new ARRAYS[dtype](bytes.buffer), (code) => value(code));
}

/** Small numbers that every dtype holds, other ones for each rank. Products of five of them are exact, too. */
export function sample(dtype: DType, length: number, rank: number): number[] {
  const limit = dtype === 'bool' ? 2 : 4;
  const lowest = dtype === 'bool' ? 0 : 1;
  const sign = (i: number): number =>
    dtype === 'bool' || dtype === 'uint8' || (i + rank) % 3 > 0 ? 1 : -1;
  return Array.from(
    { length },
    (_, i) => sign(i) * (((5 * i + 3 * rank + (i >> 3)) % limit) + lowest),
  );
}

const COMBINE: Readonly<Record<Exclude<ReduceOp, 'avg'>, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  product: (a, b) => a * b,
  min: Math.min,
  max: Math.max,
  band: (a, b) => a & b,
  bor: (a, b) => a | b,
  bxor: (a, b) => a ^ b,
};

/** The reduction of a list of each rank, as the dtype stores it. */
export function reduced(
  dtype: DType,
  op: ReduceOp,
  lists: readonly (readonly number[])[],
): number[] {
  const plain = op === 'avg' ? 'sum' : op;
  const combine =
    dtype !== 'bool'
      ? COMBINE[plain]
      : { ...COMBINE, sum: COMBINE.bor, product: COMBINE.band }[plain];
  const result = lists[0]!.map((_, i) =>
    lists.map((list) => list[i]!).reduce((a, b) => combine(a, b)),
  );
  const divided = op === 'avg' ? result.map((value) => value / lists.length) : result;
  return valuesOf(bufferOf(dtype, divided));
}
