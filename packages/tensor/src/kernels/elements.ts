/**
 * @file Elements of CPU tensors as JavaScript numbers: the memory access of every reference kernel.
 *
 * Reference kernels are written for clarity: they read whole tensors into `Float64Array`s in logical
 * (row-major) order, compute in double precision, and round once when writing. Kernels that are exact for int64
 * read `Elements` instead, where what a double does not hold is a BigInt (integer-arithmetic.ts says when).
 */
import { asyncOnly } from '../dispatch/unreadable-now.js';
import { type CpuHeap, cpuHeap } from '../heap/cpu-heap.js';
import { type DType, isIntegral, itemSize } from '../dtype.js';
import type { TensorBase } from '../tensor-base.js';
import { expandStrides, isContiguous, numelOf } from '../shape.js';
import { bigElement, isBig, needsBigs } from './integer-arithmetic.js';
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './float16.js';

/** The heap as elements of a dtype; of int64, as their halves. */
const VIEWS = {
  float32: 'f32',
  float64: 'f64',
  int64: 'i32',
  int32: 'i32',
  int16: 'i16',
  int8: 'i8',
  uint8: 'u8',
  bool: 'u8',
  float16: 'u16',
  bfloat16: 'u16',
} as const satisfies Record<DType, keyof CpuHeap>;

type HeapView = CpuHeap[(typeof VIEWS)[DType]];

/** How an element is read and written in the heap, by its place. */
interface Codec {
  decode(view: HeapView, at: number): number;
  encode(view: HeapView, at: number, value: number): void;
}

/** Of elements that are numbers there. */
const NUMBER: Codec = {
  decode: (view, at) => view[at]!,
  encode: (view, at, value) => (view[at] = value),
};

/** Of the others. */
const CODECS: Readonly<Partial<Record<DType, Codec>>> = {
  int64: {
    decode: (view, at) => view[2 * at + 1]! * 2 ** 32 + (view[2 * at]! >>> 0),
    // As C converts: truncated; NaN and what is infinite are the least number.
    encode(view, at, value) {
      if (isBig(value)) {
        cpuHeap().i64[at] = BigInt(value);
        return;
      }
      const low = value | 0;
      view[2 * at] = low;
      // Most are positions, and need no division.
      view[2 * at + 1] =
        low === value
          ? low >> 31
          : value - value === 0
            ? Math.floor(Math.trunc(value) / 2 ** 32)
            : 2 ** 31;
    },
  },
  bool: {
    decode: (view, at) => (view[at] === 0 ? 0 : 1),
    encode: (view, at, value) => (view[at] = value !== 0 ? 1 : 0),
  },
  float16: {
    decode: (view, at) => halfToNumber(view[at]!),
    encode: (view, at, value) => (view[at] = numberToHalf(value)),
  },
  bfloat16: {
    decode: (view, at) => bfloatToNumber(view[at]!),
    encode: (view, at, value) => (view[at] = numberToBfloat(value)),
  },
};

/** Of int64, where a double does not hold an element as a BigInt. */
const EXACT: Codec = {
  ...CODECS.int64!,
  decode: (view, at) => {
    const value = CODECS.int64!.decode(view, at);
    return Number.isSafeInteger(value) ? value : bigElement(cpuHeap().i64[at]!);
  },
};

/** Element setter by element index from a byte address in the heap as it is now; rounds or wraps to the dtype. */
export function elementWriter(dtype: DType, ptr: number): (i: number, value: number) => void {
  const view = cpuHeap()[VIEWS[dtype]];
  const start = ptr / itemSize(dtype);
  const { encode } = CODECS[dtype] ?? NUMBER;
  return (i, value) => encode(view, start + i, value);
}

const ROUNDINGS: Readonly<Record<DType, (value: number) => number>> = {
  float64: (value) => value,
  float32: Math.fround,
  float16: (value) => halfToNumber(numberToHalf(value)),
  bfloat16: (value) => bfloatToNumber(numberToBfloat(value)),
  int64: Math.trunc,
  int32: (value) => value | 0,
  int16: (value) => (value << 16) >> 16,
  int8: (value) => (value << 24) >> 24,
  uint8: (value) => value & 255,
  bool: (value) => (value !== 0 ? 1 : 0),
};

/** A number, or a BigInt among `Elements`, as an element of a dtype holds it: rounded, or wrapped. */
export function roundTo(dtype: DType, value: number): number {
  if (!isBig(value)) return ROUNDINGS[dtype](value);
  if (dtype === 'int64') return value;
  // Of bits that are cut off, a double would round those that are kept.
  return ROUNDINGS[dtype](Number(isIntegral(dtype) ? BigInt.asIntN(32, BigInt(value)) : value));
}

/** What makes a number what an element of a dtype holds of it. */
export function roundingTo(dtype: DType): (value: number) => number {
  return (value) => roundTo(dtype, value);
}

/** Calls `visit` for every row of a layout, in row-major order: its first element, where that lies, how many there are, how far apart. */
function forEachRow(
  sizes: readonly number[],
  strides: readonly number[],
  visit: (logical: number, offset: number, count: number, stride: number) => void,
): void {
  const numel = numelOf(sizes);
  // One row where it can be; a dimension of one element is none.
  const dims = isContiguous(sizes, strides) ? [] : sizes.flatMap((size, d) => (size > 1 ? d : []));
  const inner = dims.pop();
  const [count, stride] = inner === undefined ? [numel, 1] : [sizes[inner]!, strides[inner]!];
  const index = dims.map(() => 0);
  let offset = 0;
  for (let i = 0; i < numel; i += count) {
    visit(i, offset, count, stride);
    for (let k = dims.length - 1; k >= 0; k--) {
      const d = dims[k]!;
      offset += strides[d]!;
      if (++index[k]! < sizes[d]!) break;
      offset -= sizes[d]! * strides[d]!;
      index[k] = 0;
    }
  }
}

/** Calls `visit(logicalIndex, elementOffset)` for every element of a layout, in row-major order. */
export function forEachOffset(
  sizes: readonly number[],
  strides: readonly number[],
  visit: (logical: number, offset: number) => void,
): void {
  forEachRow(sizes, strides, (first, offset, count, stride) => {
    for (let i = 0; i < count; i++) visit(first + i, offset + i * stride);
  });
}

/** Where elements lie. */
type Placed = Pick<TensorBase, 'dtype' | 'sizes' | 'strides' | 'storage' | 'storageOffset'>;

function address(tensor: Placed, what: string, writes = false): number {
  const storage = tensor.storage;
  storage.assertReadable(what, writes);
  if (storage.device !== 'cpu')
    throw asyncOnly(storage.device, `${what} cannot run there`, 'download(x)');
  return storage.ptr + tensor.storageOffset * itemSize(tensor.dtype);
}

/**
 * Elements of any dtype exactly: of int64 in an array of numbers and, where doubles do not hold them, of BigInts,
 * between which comparisons are exact. For arithmetic on both see integer-arithmetic.ts.
 */
export interface Elements extends Iterable<number> {
  [i: number]: number;
  /** Of an array that holds no BigInts. */
  set?(values: ArrayLike<number>, at: number): void;
  readonly length: number;
  forEach(visit: (value: number, i: number) => void): void;
  map(convert: (value: number, i: number) => number): Elements;
  some(test: (value: number) => boolean): boolean;
  every(test: (value: number) => boolean): boolean;
}

/** Elements in row-major order, broadcast to `sizes` if given. @throws use-after-dispose, fake-data-access, data-async-only */
export function readNumbers(
  tensor: TensorBase,
  sizes: readonly number[] = tensor.sizes,
): Float64Array {
  const { dtype } = tensor;
  return read(tensor, sizes, CODECS[dtype] ?? NUMBER, new Float64Array(numelOf(sizes)));
}

/** Elements as `readNumbers` has them, exactly. @throws use-after-dispose, fake-data-access, data-async-only */
export function readExact(tensor: TensorBase, sizes: readonly number[] = tensor.sizes): Elements {
  if (tensor.dtype !== 'int64') return readNumbers(tensor, sizes);
  return read<Elements>(tensor, sizes, EXACT, new Array<number>(numelOf(sizes)));
}

/** Elements exactly, for a kernel: in doubles if they hold all. @throws use-after-dispose, fake-data-access, data-async-only */
export function readElements(tensor: TensorBase, sizes?: readonly number[]): Elements {
  if (needsBigs(false)) return readExact(tensor, sizes);
  const values = readNumbers(tensor, sizes);
  if (tensor.dtype === 'int64')
    for (let i = 0; i < values.length; i++) needsBigs(!Number.isSafeInteger(values[i]!));
  return values;
}

function read<A extends Elements>(
  tensor: TensorBase,
  sizes: readonly number[],
  codec: Codec,
  out: A,
): A {
  if (out.length === 0) return out;
  const { dtype, strides } = tensor;
  const start = address(tensor, 'reading values') / itemSize(dtype);
  const view = cpuHeap()[VIEWS[dtype]];
  const spread = sizes === tensor.sizes ? strides : expandStrides(tensor.sizes, strides, sizes);
  forEachRow(sizes, spread, (first, offset, count, stride) => {
    let at = start + offset;
    if (codec === NUMBER && stride === 1) out.set!(view.subarray(at, at + count), first);
    else for (let i = first; i < first + count; i++, at += stride) out[i] = codec.decode(view, at);
  });
  return out;
}

/** Room for a kernel's results of a dtype; BigInts are cut when they are written. */
export function roomFor(dtype: DType, length: number): Elements {
  return isIntegral(dtype) && needsBigs(false)
    ? new Array<number>(length)
    : new Float64Array(length);
}

function holdsBig(values: readonly unknown[]): boolean {
  for (let i = 0; i < values.length; i++) if (isBig(values[i])) return true;
  return false;
}

/** Writes elements in row-major order, rounding to the tensor's dtype. */
export function writeNumbers(tensor: Placed, values: ArrayLike<number>): void {
  if (values.length === 0) return;
  const { dtype, sizes, strides } = tensor;
  const start = address(tensor, 'writing values', true) / itemSize(dtype);
  const view = cpuHeap()[VIEWS[dtype]];
  const codec = CODECS[dtype] ?? NUMBER;
  // Views and codecs of other dtypes take numbers.
  if (dtype !== 'int64' && Array.isArray(values) && holdsBig(values))
    values = (values as number[]).map(roundingTo(dtype));
  if (codec === NUMBER && isContiguous(sizes, strides)) return view.set(values, start);
  forEachRow(sizes, strides, (first, offset, count, stride) => {
    let at = start + offset;
    for (let i = first; i < first + count; i++, at += stride) codec.encode(view, at, values[i]!);
  });
}

/**
 * The elements of a row-major float32 or float64 tensor where they lie, for kernels whose work is small
 * against that of copying them; null for others.
 */
export function floatsInPlace(tensor: TensorBase): Float32Array | Float64Array | null {
  const { dtype } = tensor;
  if (dtype !== 'float32' && dtype !== 'float64') return null;
  if (!isContiguous(tensor.sizes, tensor.strides)) return null;
  const at = address(tensor, 'accessing values') / itemSize(dtype);
  const heap = cpuHeap();
  return (dtype === 'float32' ? heap.f32 : heap.f64).subarray(at, at + numelOf(tensor.sizes));
}
