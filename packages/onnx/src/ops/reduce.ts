/**
 * @file Reductions and scans.
 */
import { type DType, type Tensor, full, isFloatingPoint, ones, zeros, cat } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OnnxOperator, OperatorTable } from '../registry.js';
import { inDType, inFloat32, range } from './like.js';

type Reduce = (x: Tensor, dims: readonly number[], keepdim: boolean) => Tensor;

/** A reduction; its axes are an input since an opset. */
function reduction(compute: Reduce, axesInputSince = 18): OnnxOperator {
  return (call) => {
    const x = call.tensor(0);
    // Without axes an attribute may say that nothing is reduced; then only what is done to each element is.
    const given = call.axes(1, axesInputSince) ?? [];
    const all = given.length === 0;
    if (all && call.flag('noop_with_empty_axes')) return inDType(compute(x, [], true), x.dtype);
    const dims = all ? range(x.ndim) : call.dims(given, x.ndim);
    return inDType(compute(x, dims, call.flag('keepdims', true)), x.dtype);
  };
}

/** Sum over dims; over none it is the tensor itself. */
function sum(x: Tensor, dims: readonly number[], keepdim: boolean): Tensor {
  return dims.length === 0 ? x : x.sum(dims, { keepdim });
}

/** Multiplies along one dimension after the other. */
function product(x: Tensor, dims: readonly number[], keepdim: boolean): Tensor {
  const down = [...dims].sort((a, b) => b - a);
  return down.reduce((result, dim) => result.prod(dim, { keepdim }), x);
}

/** Largest or smallest elements; of none it is the least or greatest number. */
function extremum(largest: boolean): Reduce {
  return (x, dims, keepdim) => {
    if (dims.length === 0) return x;
    if (x.dtype === 'bool') return extremum(largest)(x.to('uint8'), dims, keepdim).to('bool');
    if (dims.some((dim) => x.shape[dim] === 0)) {
      const shape = x.shape.flatMap((size, i) =>
        dims.includes(i) ? (keepdim ? [1] : []) : [size],
      );
      return full(shape, largest ? lowest(x) : highest(x), { dtype: x.dtype, device: x.device });
    }
    return largest ? x.amax(dims, { keepdim }) : x.amin(dims, { keepdim });
  };
}

function highest(x: Tensor): number {
  if (isFloatingPoint(x.dtype)) return Infinity;
  const bits: Partial<Record<DType, number>> = { int8: 7, uint8: 8, int16: 15, int32: 31 };
  return 2 ** (bits[x.dtype] ?? 53) - 1;
}

function lowest(x: Tensor): number {
  return x.dtype === 'uint8' ? 0 : -highest(x) - (isFloatingPoint(x.dtype) ? 0 : 1);
}

const mean: Reduce = (x, dims, keepdim) => {
  if (dims.length === 0) return x;
  if (isFloatingPoint(x.dtype)) return x.mean(dims, { keepdim });
  return x.to('float64').mean(dims, { keepdim }).trunc();
};

const logSumExp: Reduce = (x, dims, keepdim) => {
  if (dims.length === 0) return x;
  const isFloat = isFloatingPoint(x.dtype);
  return inFloat32(isFloat ? x : x.to('float32'), (wide) => wide.logsumexp([...dims], { keepdim }));
};

/** Numbers summed or multiplied one after the other; exclusively, each without itself. */
function scan(call: NodeCall, isSum: boolean): Tensor {
  const x = call.tensor(0);
  const dim = call.dim(call.number(1), x.ndim);
  const reverse = call.flag('reverse');
  let rest = reverse ? x.flip([dim]) : x;
  if (call.flag('exclusive')) {
    const shape = x.shape.map((size, d) => (d === dim ? 1 : size));
    const make = isSum ? zeros : ones;
    const first = make(shape, { dtype: x.dtype, device: x.device });
    rest = cat([first, rest.narrow(dim, 0, x.shape[dim]! - 1)], dim);
  }
  const scanned = inDType(isSum ? rest.cumsum(dim) : rest.cumprod(dim), x.dtype);
  return reverse ? scanned.flip([dim]) : scanned;
}

/** Operators of the standard domain. */
export const reductions: OperatorTable = {
  ReduceSum: reduction(sum, 13),
  ReduceMean: reduction(mean),
  ReduceProd: reduction(product),
  ReduceMax: reduction(extremum(true)),
  ReduceMin: reduction(extremum(false)),
  ReduceL1: reduction((x, dims, keepdim) => sum(x.abs(), dims, keepdim)),
  ReduceL2: reduction((x, dims, keepdim) => {
    const squares = sum(x.mul(x), dims, keepdim);
    return isFloatingPoint(x.dtype) ? squares.sqrt() : squares.to('float64').sqrt();
  }),
  ReduceLogSum: reduction((x, dims, keepdim) => sum(x, dims, keepdim).log()),
  ReduceLogSumExp: reduction(logSumExp),
  ReduceSumSquare: reduction((x, dims, keepdim) => sum(x.mul(x), dims, keepdim)),
  CumSum: (call) => scan(call, true),
  CumProd: (call) => scan(call, false),
};
