/**
 * @file Convolutions, their transposed form, and what is made of them.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, pad } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { bothPads, paddedBy, perDimension, symmetric, windowsOf } from './windows.js';
import { range } from './like.js';

const CONVOLUTIONS = [F.conv1d, F.conv2d, F.conv3d] as const;
const TRANSPOSED = [F.convTranspose1d, F.convTranspose2d, F.convTranspose3d] as const;

/** The convolution of a node over tensors that it has made of its inputs. */
export function convolve(call: NodeCall, x: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  const kernel = call.ints('kernel_shape') ?? weight.shape.slice(2);
  const windows = windowsOf(call, x.shape.slice(2), kernel);
  const { stride, dilation, before, after } = windows;
  const groups = call.int('group', 1);
  const padding = symmetric(windows);
  const input = padding === null ? paddedBy(x, before, after, 0) : x;
  return CONVOLUTIONS[kernel.length - 1]!(input, weight, {
    bias,
    stride,
    dilation,
    groups,
    padding: padding ?? 0,
  });
}

/** Elements cut off in front and behind of a transposed convolution, per dimension; negative ones are added. */
function transposedCut(
  call: NodeCall,
  sizes: readonly number[],
  full: readonly number[],
  stride: readonly number[],
): [before: number[], after: number[]] {
  const rank = sizes.length;
  const extra = perDimension(call, 'output_padding', rank, 0);
  const mode = call.text('auto_pad', 'NOTSET');
  const wanted = call.ints('output_shape')?.slice(-rank) ?? null;
  if (wanted === null && !mode.startsWith('SAME')) {
    const [before, after] = bothPads(call, rank);
    return [before, after.map((count, i) => count - extra[i]!)];
  }
  const before: number[] = [];
  const after = range(rank).map((i) => {
    const size = wanted?.[i] ?? sizes[i]! * stride[i]!;
    // Nothing is added to reach a size that is not given: the result stays smaller where the windows leave it so.
    const rest = full[i]! + extra[i]! - size;
    const total = wanted === null ? Math.max(rest, 0) : rest;
    before[i] = mode === 'SAME_UPPER' ? Math.floor(total / 2) : total - Math.floor(total / 2);
    return total - before[i]! - extra[i]!;
  });
  return [before, after];
}

function transposed(call: NodeCall): Tensor {
  const [x, weight, bias] = [call.tensor(0), call.tensor(1), call.optional(2)];
  const sizes = x.shape.slice(2);
  const rank = sizes.length;
  if (rank < 1 || rank > 3) call.fail(`${rank} spatial dimensions: there may be one to three`);
  const kernel = weight.shape.slice(2);
  const stride = perDimension(call, 'strides', rank, 1);
  const dilation = perDimension(call, 'dilations', rank, 1);
  const full = sizes.map(
    (size, i) => (size - 1) * stride[i]! + (kernel[i]! - 1) * dilation[i]! + 1,
  );
  const [before, after] = transposedCut(call, sizes, full, stride);
  const groups = call.int('group', 1);
  const run = TRANSPOSED[rank - 1]!;
  if (before.every((count, i) => count === after[i] && count >= 0))
    return run(x, weight, { bias, stride, dilation, groups, padding: before });
  const whole = run(x, weight, { stride, dilation, groups });
  const list = range(rank)
    .reverse()
    .flatMap((i) => [-before[i]!, -after[i]!]);
  const cut = pad(whole, list);
  return bias === null ? cut : cut.add(bias.reshape([1, -1, ...Array<number>(rank).fill(1)]));
}

/** Columns [N, C · kernel, windows] summed into an image. */
function col2im(call: NodeCall): Tensor {
  const columns = call.tensor(0);
  const [image, block] = [call.numbers(1), call.numbers(2)];
  const rank = image.length;
  const [before, after] = bothPads(call, rank);
  const options = {
    stride: perDimension(call, 'strides', rank, 1),
    dilation: perDimension(call, 'dilations', rank, 1),
  };
  // Over the padded image, whose border is cut off; a third dimension is folded by itself first.
  const padded = image.map((size, i) => size + before[i]! + after[i]!);
  const whole =
    rank === 2 ? F.fold(columns, padded, block, options) : foldAny(call, columns, padded);
  const list = range(rank)
    .reverse()
    .flatMap((i) => [-before[i]!, -after[i]!]);
  return pad(whole, list);
}

/** `fold` for any number of dimensions: a transposed convolution whose kernel is the identity. */
function foldAny(call: NodeCall, columns: Tensor, sizes: readonly number[]): Tensor {
  const block = call.numbers(2);
  const rank = sizes.length;
  const stride = perDimension(call, 'strides', rank, 1);
  const dilation = perDimension(call, 'dilations', rank, 1);
  const counts = sizes.map(
    (size, i) => Math.floor((size - dilation[i]! * (block[i]! - 1) - 1) / stride[i]!) + 1,
  );
  const elements = block.reduce((a, b) => a * b, 1);
  const [n, rows] = columns.shape;
  const channels = rows / elements;
  const run = TRANSPOSED[rank - 1] ?? call.fail(`${rank} spatial dimensions`);
  const kernel = columns
    .mul(0)
    .sum()
    .add(1)
    .expand([elements])
    .diag()
    .reshape([elements, 1, ...block]);
  const each = columns.reshape([n * channels, elements, ...counts]);
  const image = run(each, kernel, { stride, dilation });
  const missing = range(rank)
    .reverse()
    .flatMap((i) => [0, sizes[i]! - image.shape[i + 2]!]);
  return pad(image, missing).reshape([n, channels, ...sizes]);
}

/** Operators of the standard domain. */
export const convolutions: OperatorTable = {
  Conv: (call) => convolve(call, call.tensor(0), call.tensor(1), call.optional(2)),
  ConvTranspose: transposed,
  Col2Im: col2im,
};
