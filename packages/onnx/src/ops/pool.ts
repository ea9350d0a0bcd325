/**
 * @file Pooling.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, full, isFloatingPoint, ones } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { inDType, product, range } from './like.js';
import { type Windows, paddedBy, symmetric, windowsOf } from './windows.js';

const MAX = [F.maxPool1d, F.maxPool2d, F.maxPool3d] as const;
const MAX_WITH_INDICES = [
  F.maxPool1dWithIndices,
  F.maxPool2dWithIndices,
  F.maxPool3dWithIndices,
] as const;
const AVERAGE = [F.avgPool1d, F.avgPool2d, F.avgPool3d] as const;
const CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d] as const;

function windows(call: NodeCall, x: Tensor): Windows {
  const kernel = call.ints('kernel_shape') ?? call.fail('it has no kernel_shape');
  return windowsOf(call, x.shape.slice(2), kernel);
}

/** Where winners stand in the whole input, from where they stand in their padded plane. */
function flatIndices(call: NodeCall, x: Tensor, at: Tensor, window: Windows): Tensor {
  const sizes = x.shape.slice(2);
  const rank = sizes.length;
  const padded = sizes.map((size, i) => size + window.before[i]! + window.after[i]!);
  const columnMajor = call.flag('storage_order');
  let flat = at.mul(0);
  range(rank).forEach((i) => {
    const inner = product(padded.slice(i + 1));
    const own = at
      .div(inner, { roundingMode: 'floor' })
      .remainder(padded[i]!)
      .sub(window.before[i]!);
    const step = columnMajor ? product(sizes.slice(0, i)) : product(sizes.slice(i + 1));
    flat = flat.add(own.mul(step));
  });
  const [n, c] = x.shape;
  const planes = full([n * c], 1, { dtype: 'int64', device: x.device })
    .cumsum(0)
    .sub(1);
  const shape = [n, c, ...Array<number>(rank).fill(1)];
  return flat.add(planes.mul(product(sizes)).reshape(shape));
}

/** The largest element of each window of [N, C, …], and where it stands. */
export function maxPool(call: NodeCall, given: Tensor): Tensor[] {
  const x = isFloatingPoint(given.dtype) ? given : given.to('float32');
  const window = windows(call, x);
  const { kernel, stride, dilation, before, after } = window;
  const at = kernel.length - 1;
  const padding = symmetric(window);
  const fits = padding?.every((count, i) => count <= kernel[i]! / 2) ?? false;
  if (fits && !call.wants(1))
    return [inDType(MAX[at]!(x, kernel, { stride, dilation, padding: padding! }), given.dtype)];
  const input = paddedBy(x, before, after, -Infinity);
  if (!call.wants(1)) return [inDType(MAX[at]!(input, kernel, { stride, dilation }), given.dtype)];
  const [values, indices] = MAX_WITH_INDICES[at]!(input, kernel, { stride, dilation });
  return [inDType(values, given.dtype), flatIndices(call, x, indices, window)];
}

/** The sum of each window. */
function windowSums(x: Tensor, { kernel, stride, dilation }: Windows): Tensor {
  const at = kernel.length - 1;
  const count = product(kernel);
  if (dilation.every((step) => step === 1)) return AVERAGE[at]!(x, kernel, { stride }).mul(count);
  const [n, c, ...sizes] = x.shape;
  const weight = ones([1, 1, ...kernel], { dtype: x.dtype, device: x.device });
  const sums = CONVOLUTIONS[at]!(x.reshape([n * c, 1, ...sizes]), weight, {
    stride,
    dilation,
  });
  return sums.reshape([n, c, ...sums.shape.slice(2)]);
}

/** The average of each window of [N, C, …]. */
export function averagePool(call: NodeCall, x: Tensor): Tensor {
  const window = windows(call, x);
  const { kernel, stride, dilation, before, after, declaredAfter } = window;
  const includes = call.flag('count_include_pad');
  const padding = symmetric(window);
  const fits = padding?.every((count, i) => count <= kernel[i]! / 2) ?? false;
  const roundsUp = after.some((count, i) => count !== declaredAfter[i]);
  if (fits && !roundsUp && dilation.every((step) => step === 1))
    return AVERAGE[kernel.length - 1]!(x, kernel, {
      stride,
      padding: padding!,
      countIncludePad: includes,
    });
  const sums = windowSums(paddedBy(x, before, after, 0), window);
  // What counts in the average: the elements, with the declared padding if it is included.
  const counted = ones([1, 1, ...x.shape.slice(2)], { dtype: x.dtype, device: x.device });
  const area = includes
    ? paddedBy(paddedBy(counted, before, declaredAfter, 1), zeros(before), extra(window), 0)
    : paddedBy(counted, before, after, 0);
  return sums.div(windowSums(area, window));
}

function zeros(like: readonly number[]): number[] {
  return like.map(() => 0);
}

function extra({ after, declaredAfter }: Windows): number[] {
  return after.map((count, i) => count - declaredAfter[i]!);
}

function lpPool(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const p = call.int('p', 2);
  const window = windows(call, x);
  const powers = paddedBy(x.abs().pow(p), window.before, window.after, 0);
  return windowSums(powers, window).pow(1 / p);
}

/** Spatial dimensions, reduced to size 1. */
function spatial(x: Tensor): number[] {
  return range(x.ndim).slice(2);
}

/** Puts maxima back where they were; the indices count over the whole result. */
function maxUnpool(call: NodeCall): Tensor {
  const [x, at] = [call.tensor(0), call.tensor(1)];
  const sizes = x.shape.slice(2);
  const rank = sizes.length;
  const kernel = call.ints('kernel_shape') ?? call.fail('it has no kernel_shape');
  const stride = call.ints('strides') ?? Array<number>(rank).fill(1);
  const pads = call.ints('pads') ?? Array<number>(2 * rank).fill(0);
  const natural = sizes.map(
    (size, i) => (size - 1) * stride[i]! - pads[i]! - pads[i + rank]! + kernel[i]!,
  );
  const inner = [...x.shape.slice(0, 2), ...natural];
  const shape = call.has(2) ? [...call.numbers(2)] : inner;
  const flat = full([product(inner)], 0, { dtype: x.dtype, device: x.device });
  const filled = flat.scatter(0, at.reshape([-1]), x.reshape([-1])).reshape(inner);
  const after = shape.slice(2).map((size, i) => size - natural[i]!);
  return paddedBy(filled, zeros(after), after, 0);
}

/** Operators of the standard domain with one output. */
export const pools: OperatorTable = {
  AveragePool: (call) => averagePool(call, call.tensor(0)),
  LpPool: lpPool,
  MaxUnpool: maxUnpool,
  GlobalAveragePool: (call) => call.tensor(0).mean(spatial(call.tensor(0)), { keepdim: true }),
  GlobalMaxPool: (call) => call.tensor(0).amax(spatial(call.tensor(0)), { keepdim: true }),
  GlobalLpPool: (call) => {
    const x = call.tensor(0);
    const p = call.int('p', 2);
    return x
      .abs()
      .pow(p)
      .sum(spatial(x), { keepdim: true })
      .pow(1 / p);
  },
};

/** Operators of the standard domain with several outputs. */
export const poolLists: ListOperatorTable = {
  MaxPool: (call) => maxPool(call, call.tensor(0)),
};
