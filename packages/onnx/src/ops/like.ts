/**
 * @file Small conversions that handlers of several families share.
 */
import { type DType, type Tensor, arange, full, tensor } from '@tessera/tensor';
import { type HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';

/** A result in the dtype that ONNX gives it: PyTorch's sums of integers are int64, ONNX keeps the type. */
export function inDType(result: Tensor, dtype: DType): Tensor {
  return result.dtype === dtype ? result : result.to(dtype);
}

/** A tensor in the dtype that ONNX computes in inside of an operator: float32, or float64 where it is of that. */
export function widened(x: Tensor): Tensor {
  return x.dtype === 'float64' ? x : x.to('float32');
}

/** Computes in float32 where the dtype is a float of 16 bits, as ONNX does inside of an operator. */
export function inFloat32(input: Tensor, compute: (wide: Tensor) => Tensor): Tensor {
  const isHalf = input.dtype === 'float16' || input.dtype === 'bfloat16';
  return isHalf ? compute(input.to('float32')).to(input.dtype) : compute(input);
}

/**
 * Whole numbers as an int64 tensor on the device of a call. Those that follow a rule are made by an operator: a traced
 * call that makes tensors of numbers is matched node by node.
 */
export function indices(call: NodeCall, numbers: readonly number[]): Tensor {
  const options = { dtype: 'int64', device: call.device } as const;
  const [first, second = first] = numbers;
  if (first === undefined) return tensor([], options);
  const step = second! - first;
  if (!numbers.every((value, i) => value === first + i * step))
    return tensor([...numbers], options);
  const count = numbers.length;
  return step === 0
    ? full([count], first, options)
    : arange(first, first + count * step, step, options);
}

/** Indices from 0 on: ONNX counts negative ones from the end. */
export function wrapped(index: Tensor, size: number): Tensor {
  return index.add(index.lt(0).to(index.dtype).mul(size));
}

/** Rows of a host array's last dimension. */
export function rows(array: HostArray): number[][] {
  const width = array.shape.at(-1) ?? 1;
  return Array.from({ length: width === 0 ? 0 : array.numel / width }, (_, i) =>
    array.data.slice(i * width, (i + 1) * width),
  );
}

/**
 * The dimensions before one as rows, those from it on as columns. Told by dimensions, not by products of sizes: a traced
 * call is the same for all sizes then, and nothing has to find out how a product depends on them.
 */
export function asMatrix(x: Tensor, dim: number): Tensor {
  if (dim === 0) return x.reshape([1, -1]);
  if (dim === x.ndim) return x.reshape([-1, 1]);
  return x.flatten(dim).flatten(0, dim - 1);
}

/** Rows [M, N] as [..., N] in the place of those of a tensor. The size that varies most is left open, as above. */
export function asRowsOf(x: Tensor, rows: Tensor): Tensor {
  const width = rows.shape[1]!;
  const outer = x.shape.slice(0, -1);
  if (outer.length === 0) return rows.reshape([width]);
  const isOpen = width > 0 && outer.slice(0, -1).every((size) => size > 0);
  return rows.reshape([...outer.slice(0, -1), isOpen ? -1 : outer.at(-1)!, width]);
}

/** The elements along dimensions in front of, at and behind an axis. */
export function product(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total * size, 1);
}

/** Longer tables are no sizes of anything that is computed. */
const LONGEST = 2 ** 26;

/** Before a table is made number by number. @throws RangeError, which the run tells with the name of its node */
export function checkCount(count: number): void {
  if (count > LONGEST) throw new RangeError(`a table of ${count} numbers`);
}

/** 0, 1, …, count - 1. @throws RangeError, as `checkCount` */
export function range(count: number): number[] {
  checkCount(count);
  return Array.from({ length: count }, (_, i) => i);
}
