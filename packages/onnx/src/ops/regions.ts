/**
 * @file Regions of images: boxes that are pooled to one size, and convolutions whose taps are moved by offsets.
 */
import {
  type Tensor,
  arange,
  fullLike,
  matmul,
  maximum,
  stack,
  tensor,
  where,
} from '@tessera/tensor';
import { gridSample } from '@tessera/tensor/internal';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { product, range, wrapped } from './like.js';
import { bothPads, perDimension } from './windows.js';

/** Where the bins of boxes are sampled along one dimension. */
interface Samples {
  /** In elements of the image, within it: [boxes, bins, samples]. */
  readonly at: Tensor;
  /** 1 where a sample lies in the image, 0 where it counts as zero; of the same shape. */
  readonly isInside: Tensor;
  /** Which samples a box has: bool, [boxes, 1, samples]. */
  readonly isTaken: Tensor;
  /** Samples in a bin, at least one: [boxes, 1, 1]. */
  readonly count: Tensor;
}

/** Corners of boxes in elements: half an element less where coordinates are those of pixel corners. */
interface Boxes {
  readonly scale: number;
  readonly shift: number;
}

/**
 * How many samples each box takes in a bin, where the node leaves it to the size of the box. The numbers are read, and
 * computed with the rounding of float32: a bin of exactly two elements has two samples.
 */
function samplesOf(call: NodeCall, low: number, bins: number, { scale, shift }: Boxes): number[] {
  const { data, shape } = call.host(1);
  const f = Math.fround;
  return range(shape[0]!).map((box) => {
    const [start, end] = [data[4 * box + low]!, data[4 * box + low + 2]!].map((corner) =>
      f(f(corner * f(scale)) - shift),
    );
    const length = f(end - start);
    return Math.ceil(f((shift === 0 ? Math.max(length, 1) : length) / bins));
  });
}

function samples(call: NodeCall, low: number, bins: number, size: number, boxes: Boxes): Samples {
  const { scale, shift } = boxes;
  const rois = call.tensor(1);
  const column = (i: number): Tensor => rois.select(1, i).mul(scale).sub(shift).reshape([-1, 1, 1]);
  const start = column(low);
  const length = column(low + 2).sub(start);
  const bin = (shift === 0 ? length.clamp(1) : length).div(bins);
  const on = { dtype: rois.dtype, device: call.device };
  const ratio = call.int('sampling_ratio', 0);
  const counts = ratio > 0 ? [ratio] : samplesOf(call, low, bins, boxes);
  const step = arange(Math.max(1, ...counts), on);
  const own = tensor(counts, on).reshape([-1, 1, 1]);
  const count = own.clamp(1);
  const places = arange(bins, on).reshape([1, -1, 1]).add(step.add(0.5).div(count));
  const at = start.add(bin.mul(places));
  const isInside = at.ge(-1).logicalAnd(at.le(size)).to(rois.dtype);
  return { at: at.clamp(0, size - 1), isInside, isTaken: step.lt(own), count };
}

/**
 * The mean of the samples as a matrix over the elements, [boxes, bins, elements]: an element counts for a sample by
 * what its distance leaves of one.
 */
function means({ at, isInside, isTaken, count }: Samples, from: Tensor, elements: number): Tensor {
  const place = arange(elements, { dtype: at.dtype, device: at.device });
  const near = at.add(from).unsqueeze(-1).sub(place).abs().neg().add(1).clamp(0);
  const weight = isInside.mul(isTaken.to(at.dtype)).div(count);
  return near.mul(weight.unsqueeze(-1)).sum(2);
}

/** The two elements beside each sample, with their weights. */
function beside({ at, isInside }: Samples, size: number): [index: Tensor, weight: Tensor][] {
  const low = at.floor();
  const part = at.sub(low);
  return [
    [low.to('int64'), part.neg().add(1).mul(isInside)],
    [
      low
        .add(1)
        .clamp(null, size - 1)
        .to('int64'),
      part.mul(isInside),
    ],
  ];
}

/** The largest of all weighted elements, as the operator is defined: not the largest of the interpolated samples. */
function largest(x: Tensor, image: Tensor, rows: Samples, columns: Samples): Tensor {
  const [n, c, h, w] = x.shape;
  const flat = x.permute([0, 2, 3, 1]).reshape([n * h * w, c]);
  const tall = (part: Tensor): Tensor => part.unsqueeze(-1).unsqueeze(-1);
  const wide = (part: Tensor): Tensor => part.unsqueeze(1).unsqueeze(1);
  const corners = beside(rows, h).flatMap(([y, rowWeight]) =>
    beside(columns, w).map(([column, columnWeight]) => {
      const place = tall(y.add(image.reshape([-1, 1, 1]).mul(h)).mul(w)).add(wide(column));
      const values = flat.indexSelect(0, place.reshape([-1])).reshape([...place.shape, c]);
      return values.mul(tall(rowWeight).mul(wide(columnWeight)).unsqueeze(-1));
    }),
  );
  const best = corners.reduce((a, b) => maximum(a, b));
  const isTaken = tall(rows.isTaken).logicalAnd(wide(columns.isTaken)).unsqueeze(-1);
  const found = where(isTaken, best, fullLike(best, -Infinity)).amax([2, 4]);
  // A box without a size has no samples, and is zero.
  return where(found.eq(-Infinity), 0, found).permute([0, 3, 1, 2]);
}

/** Boxes [R, 4] of images [N, C, H, W] → [R, C, bins, bins], each bin from samples of the image. */
function roiAlign(call: NodeCall): Tensor {
  const x = call.tensor(0);
  if (x.ndim !== 4) call.fail(`an input with ${x.ndim} dimensions instead of 4`);
  const [n, c, h, w] = x.shape;
  const modes = ['half_pixel', 'output_half_pixel'] as const;
  const kind = call.choice('coordinate_transformation_mode', modes, modes[call.opset < 16 ? 1 : 0]);
  const boxes = { scale: call.float('spatial_scale', 1), shift: kind === 'half_pixel' ? 0.5 : 0 };
  const [high, wide] = [call.int('output_height', 1), call.int('output_width', 1)];
  const [rows, columns] = [samples(call, 1, high, h, boxes), samples(call, 0, wide, w, boxes)];
  const image = wrapped(call.tensor(2).to('int64'), n);
  if (call.choice('mode', ['avg', 'max'], 'avg') === 'max') return largest(x, image, rows, columns);
  // Rows of all images below each other: one product, whatever the image of a box.
  const from = image.mul(h).to(x.dtype).reshape([-1, 1, 1]);
  const all = x.permute([0, 2, 1, 3]).reshape([n * h, c * w]);
  const count = rows.at.shape[0]!;
  const tall = matmul(means(rows, from, n * h).reshape([count * high, n * h]), all);
  const across = means(columns, from.mul(0), w).transpose(1, 2);
  return matmul(tall.reshape([count, high * c, w]), across)
    .reshape([count, high, c, wide])
    .transpose(1, 2);
}

/** Which elements along a dimension each bin of a box has: bool, [boxes, bins, elements]. Boxes are of whole elements. */
function binsOf(rois: Tensor, low: number, bins: number, size: number, scale: number): Tensor {
  const on = { dtype: rois.dtype, device: rois.device };
  // Halves are rounded up, corners of boxes being positive.
  const corner = (i: number): Tensor => rois.select(1, i).mul(scale).add(0.5).floor();
  const start = corner(low).reshape([-1, 1]);
  const length = corner(low + 2)
    .reshape([-1, 1])
    .sub(start)
    .add(1)
    .clamp(1);
  const bin = arange(bins, on);
  const width = length.div(bins);
  const [first, end] = [bin.mul(width).floor(), bin.add(1).mul(width).ceil()];
  const place = arange(size, on).sub(start).unsqueeze(1);
  return place.ge(first.unsqueeze(-1)).logicalAnd(place.lt(end.unsqueeze(-1)));
}

/** Boxes [R, 5] of images, the image in front → [R, C, bins, bins], each bin the largest of its elements. */
function maxRoiPool(call: NodeCall): Tensor {
  const [x, rois] = [call.tensor(0), call.tensor(1)];
  if (x.ndim !== 4) call.fail(`an input with ${x.ndim} dimensions instead of 4`);
  const [high, wide] = call.ints('pooled_shape') ?? [];
  if (high === undefined || wide === undefined) call.fail(`pooled_shape has no two numbers`);
  const scale = call.float('spatial_scale', 1);
  const [height, width] = x.shape.slice(2);
  const down = binsOf(rois, 2, high, height!, scale);
  const across = binsOf(rois, 1, wide, width!, scale);
  const rows = down.unsqueeze(1).unsqueeze(-1);
  const columns = across.unsqueeze(1).unsqueeze(1);
  const own = x.indexSelect(0, rois.select(1, 0).to('int64')).unsqueeze(2);
  const lowest = fullLike(own, -Infinity);
  const tall = where(rows, own, lowest).amax([3]).unsqueeze(3);
  const found = where(columns, tall, -Infinity).amax([4]);
  // A bin outside of the image has no elements, and is zero.
  const hasElements = down
    .any([-1])
    .unsqueeze(-1)
    .logicalAnd(across.any([-1]).unsqueeze(1));
  return where(hasElements.unsqueeze(1), found, 0);
}

/** A convolution [N, C, H, W] whose taps are moved by offsets [N, groups · taps · 2, H', W'], and weighted by a mask. */
function deformed(call: NodeCall): Tensor {
  const [x, weight, moved] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  if (x.ndim !== 4) call.unsupported(`an input with ${x.ndim} dimensions`);
  const [n, c, h, w] = x.shape;
  const [kernelHeight, kernelWidth] = weight.shape.slice(2);
  const [outputs, taps] = [weight.shape[0]!, kernelHeight * kernelWidth];
  const [high, wide] = moved.shape.slice(2);
  const [groups, parts] = [call.int('group', 1), call.int('offset_group', 1)];
  const [stride, dilation] = [
    perDimension(call, 'strides', 2, 1),
    perDimension(call, 'dilations', 2, 1),
  ];
  const [before] = bothPads(call, 2);
  // Grids are of -1 to 1, which in float32 moves a place between elements by a rounding; other devices have no float64.
  const exact = call.device === 'cpu' ? 'float64' : x.dtype;
  const on = { dtype: exact, device: call.device };
  const offsets = moved.to(exact).reshape([n * parts, kernelHeight, kernelWidth, 2, high, wide]);
  const along = (d: number, kernel: number, size: number, shape: readonly number[]): Tensor => {
    const tap = arange(kernel, on).mul(dilation[d]!);
    const start = arange(size, on).mul(stride[d]!).sub(before[d]!);
    return tap.unsqueeze(1).add(start).reshape(shape);
  };
  const y = along(0, kernelHeight, high, [1, kernelHeight, 1, high, 1]).add(offsets.select(3, 0));
  const across = along(1, kernelWidth, wide, [1, 1, kernelWidth, 1, wide]).add(
    offsets.select(3, 1),
  );
  // From -1 to 1 over the image, between the outer edges of its pixels.
  const spread = (at: Tensor, size: number): Tensor =>
    at
      .mul(2)
      .add(1)
      .div(size)
      .sub(1)
      .reshape([n * parts, taps * high, wide]);
  const found = gridSample(
    x.to(exact).reshape([n * parts, c / parts, h, w]),
    stack([spread(across, w), spread(y, h)], -1),
    { mode: 'bilinear', paddingMode: 'zeros', alignCorners: false },
  )
    .to(x.dtype)
    .reshape([n * parts, c / parts, taps, high * wide]);
  const mask = call.optional(4)?.reshape([n * parts, 1, taps, high * wide]) ?? null;
  const columns = (mask === null ? found : found.mul(mask)).reshape([
    n,
    groups,
    (c / groups) * taps,
    high * wide,
  ]);
  const kernel = weight.reshape([groups, outputs / groups, product(weight.shape.slice(1))]);
  const sum = matmul(kernel, columns).reshape([n, outputs, high, wide]);
  const bias = call.optional(3);
  return bias === null ? sum : sum.add(bias.reshape([1, -1, 1, 1]));
}

/** Operators of the standard domain. */
export const regions: OperatorTable = {
  RoiAlign: roiAlign,
  MaxRoiPool: maxRoiPool,
  DeformConv: deformed,
};
