/**
 * @file Elements of CPU tensors as JavaScript numbers: the memory access of every reference kernel.
 *
 * Reference kernels are written for clarity: they read whole tensors into `Float64Array`s in logical
 * (row-major) order, compute in double precision, and round once when writing. int64 values beyond
 * 2⁵³ lose precision here.
 */
import { asyncOnly } from '../dispatch/unreadable-now.js';
import { cpuHeap } from '../heap/cpu-heap.js';
import { type DType, itemSize } from '../dtype.js';
import type { TensorBase } from '../tensor-base.js';
import { expandStrides, isContiguous, numelOf } from '../shape.js';
import { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './float16.js';

/** Element getter by element index from a byte address. */
function reader(dtype: DType, ptr: number): (i: number) => number {
  const heap = cpuHeap();
  switch (dtype) {
    case 'float32': {
      const a = heap.f32;
      const o = ptr >>> 2;
      return (i) => a[o + i]!;
    }
    case 'float64': {
      const a = heap.f64;
      const o = ptr / 8;
      return (i) => a[o + i]!;
    }
    case 'int64': {
      const a = heap.i64;
      const o = ptr / 8;
      return (i) => Number(a[o + i]!);
    }
    case 'int32': {
      const a = heap.i32;
      const o = ptr >>> 2;
      return (i) => a[o + i]!;
    }
    case 'int16': {
      const a = heap.i16;
      const o = ptr >>> 1;
      return (i) => a[o + i]!;
    }
    case 'int8': {
      const a = heap.i8;
      return (i) => a[ptr + i]!;
    }
    case 'uint8': {
      const a = heap.u8;
      return (i) => a[ptr + i]!;
    }
    case 'bool': {
      const a = heap.u8;
      return (i) => (a[ptr + i] === 0 ? 0 : 1);
    }
    case 'float16': {
      const a = heap.u16;
      const o = ptr >>> 1;
      return (i) => halfToNumber(a[o + i]!);
    }
    case 'bfloat16': {
      const a = heap.u16;
      const o = ptr >>> 1;
      return (i) => bfloatToNumber(a[o + i]!);
    }
  }
}

/** float → int conversion as C does it: truncation, NaN and overflow give the minimum for 64 bit. */
function toBigInt(value: number): bigint {
  if (!Number.isFinite(value)) return -(2n ** 63n);
  return BigInt(Math.trunc(value));
}

/** Element setter by element index from a byte address in the heap as it is now; rounds or wraps to the dtype. */
export function elementWriter(dtype: DType, ptr: number): (i: number, value: number) => void {
  const heap = cpuHeap();
  switch (dtype) {
    case 'float32': {
      const a = heap.f32;
      const o = ptr >>> 2;
      return (i, v) => {
        a[o + i] = v;
      };
    }
    case 'float64': {
      const a = heap.f64;
      const o = ptr / 8;
      return (i, v) => {
        a[o + i] = v;
      };
    }
    case 'int64': {
      const a = heap.i64;
      const o = ptr / 8;
      return (i, v) => {
        a[o + i] = toBigInt(v);
      };
    }
    case 'int32': {
      const a = heap.i32;
      const o = ptr >>> 2;
      return (i, v) => {
        a[o + i] = v;
      };
    }
    case 'int16': {
      const a = heap.i16;
      const o = ptr >>> 1;
      return (i, v) => {
        a[o + i] = v;
      };
    }
    case 'int8': {
      const a = heap.i8;
      return (i, v) => {
        a[ptr + i] = v;
      };
    }
    case 'uint8': {
      const a = heap.u8;
      return (i, v) => {
        a[ptr + i] = v;
      };
    }
    case 'bool': {
      const a = heap.u8;
      return (i, v) => {
        a[ptr + i] = v !== 0 ? 1 : 0;
      };
    }
    case 'float16': {
      const a = heap.u16;
      const o = ptr >>> 1;
      return (i, v) => {
        a[o + i] = numberToHalf(v);
      };
    }
    case 'bfloat16': {
      const a = heap.u16;
      const o = ptr >>> 1;
      return (i, v) => {
        a[o + i] = numberToBfloat(v);
      };
    }
  }
}

const scratch = new Int32Array(1);

/** A number as an element of a dtype holds it: rounded, or wrapped. */
export function roundTo(dtype: DType, value: number): number {
  switch (dtype) {
    case 'float64':
      return value;
    case 'float32':
      return Math.fround(value);
    case 'float16':
      return halfToNumber(numberToHalf(value));
    case 'bfloat16':
      return bfloatToNumber(numberToBfloat(value));
    case 'bool':
      return value !== 0 ? 1 : 0;
    case 'int64':
      return Math.trunc(value);
    default:
      scratch[0] = value;
      return dtype === 'int32'
        ? scratch[0]!
        : dtype === 'int16'
          ? (scratch[0]! << 16) >> 16
          : dtype === 'int8'
            ? (scratch[0]! << 24) >> 24
            : scratch[0]! & 255;
  }
}

/** Calls `visit(logicalIndex, elementOffset)` for every element of a layout, in row-major order. */
export function forEachOffset(
  sizes: readonly number[],
  strides: readonly number[],
  visit: (logical: number, offset: number) => void,
): void {
  const numel = numelOf(sizes);
  if (numel === 0) return;
  const ndim = sizes.length;
  const index = new Array<number>(ndim).fill(0);
  let offset = 0;
  for (let i = 0; i < numel; i++) {
    visit(i, offset);
    for (let d = ndim - 1; d >= 0; d--) {
      index[d]!++;
      offset += strides[d]!;
      if (index[d]! < sizes[d]!) break;
      offset -= index[d]! * strides[d]!;
      index[d] = 0;
    }
  }
}

function address(tensor: TensorBase, what: string, writes = false): number {
  const storage = tensor.storage;
  storage.assertReadable(what, writes);
  if (storage.device !== 'cpu')
    throw asyncOnly(storage.device, `${what} cannot run there`, 'download(x)');
  return storage.ptr + tensor.storageOffset * itemSize(tensor.dtype);
}

/** Elements in row-major order, broadcast to `sizes` if given. @throws use-after-dispose, fake-data-access, data-async-only */
export function readNumbers(
  tensor: TensorBase,
  sizes: readonly number[] = tensor.sizes,
): Float64Array {
  const out = new Float64Array(numelOf(sizes));
  if (out.length === 0) return out;
  const read = reader(tensor.dtype, address(tensor, 'reading values'));
  const strides =
    sizes === tensor.sizes ? tensor.strides : expandStrides(tensor.sizes, tensor.strides, sizes);
  if (isContiguous(sizes, strides)) for (let i = 0; i < out.length; i++) out[i] = read(i);
  else
    forEachOffset(sizes, strides, (i, offset) => {
      out[i] = read(offset);
    });
  return out;
}

/** Elements of an int64 tensor in row-major order, exactly. @throws use-after-dispose, fake-data-access, data-async-only */
export function readWholes(tensor: TensorBase): BigInt64Array {
  const out = new BigInt64Array(numelOf(tensor.sizes));
  if (out.length === 0) return out;
  const at = address(tensor, 'reading values') / itemSize('int64');
  const { i64 } = cpuHeap();
  forEachOffset(tensor.sizes, tensor.strides, (i, offset) => {
    out[i] = i64[at + offset]!;
  });
  return out;
}

/** Writes elements in row-major order, rounding to the tensor's dtype. */
export function writeNumbers(tensor: TensorBase, values: ArrayLike<number>): void {
  if (values.length === 0) return;
  const write = elementWriter(tensor.dtype, address(tensor, 'writing values', true));
  if (isContiguous(tensor.sizes, tensor.strides))
    for (let i = 0; i < values.length; i++) write(i, values[i]!);
  else forEachOffset(tensor.sizes, tensor.strides, (i, offset) => write(offset, values[i]!));
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
