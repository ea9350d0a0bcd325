/**
 * @file Convolutions as matrix products whose operand is a masked load at image coordinates
 * (implicit GEMM): forward, gradient of the input, gradient of the weight, and transposed.
 *
 * With channels last, pixels are the rows; otherwise channels are the rows and pixels the columns, so
 * that the fastest-moving variable has unit stride in the result. Groups are the batch; a depthwise
 * convolution has one row per group and so becomes a reduction (see contract.ts).
 */
import { readyOperand } from '../ready-operand.js';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { type ContractPoint, contract } from './contract.js';
import {
  type ConvGeometry,
  type ConvTarget,
  convGeometry,
  fitsWindows,
  guardedLoad,
  inputPositions,
  outputPositions,
} from './conv-shape.js';
import { convOfPhases, hasPhases } from './conv-upsample.js';
import { tensorArg } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import { fixedShape, isEmpty } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** An image-shaped product: per group, `channels` by (images × pixels), summed over `k`. */
interface ImageProduct {
  readonly groups: number;
  /** Channels of the result per group. */
  readonly channels: number;
  readonly k: readonly number[];
  readonly target: ConvTarget;
  /** Whether pixels see the image at constant distances. */
  readonly windows: boolean;
  readonly weight: (group: IndexExpr, channel: IndexExpr, k: readonly IndexExpr[]) => Expr;
  readonly image: (
    group: IndexExpr,
    image: IndexExpr,
    pixel: readonly IndexExpr[],
    k: readonly IndexExpr[],
  ) => Expr;
}

function imageProduct(l: Lowering, spec: ImageProduct): LoweredTensor {
  const { sizes, layout, dtype } = spec.target;
  const pixels = [sizes[0]!, ...sizes.slice(2)];
  const channelsLast = layout !== null && layout[1] === 1 && sizes[1] !== 1;
  const channelOf = (p: ContractPoint): IndexExpr => (channelsLast ? p.n : p.m)[0]!;
  const pixelOf = (p: ContractPoint): readonly IndexExpr[] => (channelsLast ? p.m : p.n);
  const weight = (
    batch: readonly IndexExpr[],
    channel: readonly IndexExpr[],
    k: readonly IndexExpr[],
  ): Expr => spec.weight(batch[0]!, channel[0]!, k);
  const image = (
    batch: readonly IndexExpr[],
    k: readonly IndexExpr[],
    at: readonly IndexExpr[],
  ): Expr => spec.image(batch[0]!, at[0]!, at.slice(1), k);
  return contract(l, {
    shape: {
      batch: [spec.groups],
      m: channelsLast ? pixels : [spec.channels],
      n: channelsLast ? [spec.channels] : pixels,
      k: spec.k,
    },
    a: channelsLast ? (batch, m, k) => image(batch, k, m) : weight,
    b: channelsLast ? (batch, k, n) => weight(batch, n, k) : image,
    sizes,
    dtype,
    layout,
    windows: spec.windows && !channelsLast && l.capabilities.windows === true,
    coords: (p) => [
      pixelOf(p)[0]!,
      l.ir.add(l.ir.scale(p.batch[0]!, spec.channels), channelOf(p)),
      ...pixelOf(p).slice(1),
    ],
    decode: ([image0, channel, ...rest]) => {
      const batch = [l.ir.div(channel!, spec.channels)];
      const within = [l.ir.mod(channel!, spec.channels)];
      const at = [image0!, ...rest];
      return channelsLast ? { batch, m: at, n: within } : { batch, m: within, n: at };
    },
  });
}

/** Σ over input channels and taps of input · weight; weight is [Cout, Cin / groups, …kernel]. */
function convForward(
  l: Lowering,
  input: LoweredTensor,
  weight: LoweredTensor,
  geometry: ConvGeometry,
  target: ConvTarget,
): LoweredTensor {
  const [x, w] = [readyOperand(l, input), readyOperand(l, weight)];
  const channelsIn = w.sizes[1]!;
  const channels = w.sizes[0]! / geometry.groups;
  const taps = w.sizes.slice(2);
  // Terms are summed in the order in which the image's memory runs: long runs fill whole vectors.
  const channelsInner = channelsIn > 1 && x.wholeBuffer?.strides[1] === 1;
  const parts = (k: readonly IndexExpr[]): readonly [IndexExpr, readonly IndexExpr[]] =>
    channelsInner ? [k[taps.length]!, k.slice(0, -1)] : [k[0]!, k.slice(1)];
  return imageProduct(l, {
    groups: geometry.groups,
    channels,
    k: channelsInner ? [...taps, channelsIn] : [channelsIn, ...taps],
    target,
    windows: fitsWindows(target, taps),
    weight: (group, channel, k) => {
      const [c, tap] = parts(k);
      return w.load([l.ir.add(l.ir.scale(group, channels), channel), c, ...tap]);
    },
    image: (group, image, pixel, k) => {
      const [c, tap] = parts(k);
      const { coords, inside } = inputPositions(l, geometry, x.shape.slice(2), pixel, tap);
      return guardedLoad(
        l,
        x,
        [image, l.ir.add(l.ir.scale(group, channelsIn), c), ...coords],
        inside,
      );
    },
  });
}

/** Gradient of the input of `convForward`; also the forward of a transposed convolution. */
function convGradInput(
  l: Lowering,
  grad: LoweredTensor,
  weight: LoweredTensor,
  geometry: ConvGeometry,
  target: ConvTarget,
): LoweredTensor {
  const [g, w] = [readyOperand(l, grad), readyOperand(l, weight)];
  const channels = w.sizes[1]!;
  const channelsOut = w.sizes[0]! / geometry.groups;
  const kernel = w.sizes.slice(2);
  if (hasPhases(geometry, kernel)) return convOfPhases(l, g, w, geometry, target);
  return imageProduct(l, {
    groups: geometry.groups,
    channels,
    k: [channelsOut, ...kernel],
    target,
    windows: geometry.stride.every((stride) => stride === 1) && fitsWindows(target, kernel),
    weight: (group, channel, [c, ...tap]) =>
      w.load([l.ir.add(l.ir.scale(group, channelsOut), c!), channel, ...tap]),
    image: (group, image, pixel, [c, ...tap]) => {
      const { coords, inside } = outputPositions(l, geometry, g.shape.slice(2), kernel, pixel, tap);
      return guardedLoad(
        l,
        g,
        [image, l.ir.add(l.ir.scale(group, channelsOut), c!), ...coords],
        inside,
      );
    },
  });
}

/** Gradient of the weight of `convForward`: Σ over images and pixels. */
function convGradWeight(
  l: Lowering,
  grad: LoweredTensor,
  input: LoweredTensor,
  geometry: ConvGeometry,
  target: ConvTarget,
): LoweredTensor {
  const [g, x] = [readyOperand(l, grad), readyOperand(l, input)];
  const [filters, channelsIn, ...taps] = fixedShape(target.sizes);
  const channels = filters / geometry.groups;
  return contract(l, {
    shape: {
      batch: [geometry.groups],
      m: [channels],
      n: [channelsIn, ...taps],
      k: [g.shape[0]!, ...g.shape.slice(2)],
    },
    a: ([group], [channel], [image, ...pixel]) =>
      g.load([image!, l.ir.add(l.ir.scale(group!, channels), channel!), ...pixel]),
    b: ([group], [image, ...pixel], [c, ...tap]) => {
      const { coords, inside } = inputPositions(l, geometry, x.shape.slice(2), pixel, tap);
      return guardedLoad(
        l,
        x,
        [image!, l.ir.add(l.ir.scale(group!, channelsIn), c!), ...coords],
        inside,
      );
    },
    sizes: target.sizes,
    dtype: target.dtype,
    layout: target.layout,
    coords: (p) => [l.ir.add(l.ir.scale(p.batch[0]!, channels), p.m[0]!), ...p.n],
    decode: ([channel, ...rest]) => ({
      batch: [l.ir.div(channel!, channels)],
      m: [l.ir.mod(channel!, channels)],
      n: rest,
    }),
  });
}

/** A convolution, transposed or not, with its bias. */
export const convolution: LoweringOf<'aten::convolution'> = (
  l,
  [x, w, bias, stride, padding, dilation, transposed, , groups],
  call,
) => {
  const geometry = convGeometry(x.shape.length - 2, stride, padding, dilation, groups);
  const hasBias = bias !== null && bias !== undefined;
  const [dtype, { layout }] = [
    hasBias ? accumulateDtype(call.dtype) : call.dtype,
    call.results[0]!,
  ];
  const target: ConvTarget = {
    sizes: call.shape,
    dtype,
    layout: layout.length === 0 ? null : layout,
  };
  const product =
    transposed === true
      ? convGradInput(l, x, w, geometry, target)
      : convForward(l, x, w, geometry, target);
  if (!hasBias) return product;
  const perChannel = tensorArg(bias, call.op).load([l.vars(call.shape)[1]!]);
  const sum = l.ir.op('add', [product.expr, l.ir.cast(perChannel, dtype)]);
  return l.pointwise(call.shape, l.ir.cast(sum, call.dtype));
};

/** Returns gradients of input, weight and bias as far as the mask asks for them. */
const convolutionBackward: LoweringOf<'aten::convolution_backward'> = (
  l,
  [g, x, w, , stride, padding, dilation, transposed, , groups, mask],
  call,
) => {
  const geometry = convGeometry(x.shape.length - 2, stride, padding, dilation, groups);
  const target = (like: LoweredTensor, at: number): ConvTarget => ({
    sizes: like.shape,
    dtype: like.dtype,
    layout: call.results[at]?.layout ?? null,
  });
  const gradInput = !mask[0]
    ? null
    : transposed === true
      ? convForward(l, g, w, geometry, target(x, 0))
      : convGradInput(l, g, w, geometry, target(x, 0));
  const gradWeight = !mask[1]
    ? null
    : transposed === true
      ? convGradWeight(l, x, g, geometry, target(w, 1))
      : convGradWeight(l, g, x, geometry, target(w, 1));
  return [gradInput, gradWeight, mask[2] ? biasGradient(l, g) : null];
};

/** Sum over everything but channels. */
function biasGradient(l: Lowering, grad: LoweredTensor): LoweredTensor {
  const dims = grad.shape.map((_, d) => d).filter((d) => d !== 1);
  const acc = accumulateDtype(grad.dtype);
  if (isEmpty(grad.shape)) return l.pointwise([grad.shape[1]!], l.ir.const(grad.dtype, 0));
  const [sum] = reduce(l, 'sum', grad, dims, false, acc);
  return l.pointwise(sum!.shape, l.ir.cast(sum!.expr, grad.dtype));
}

/** Lowerings by overload name. */
export const convLowerings: LoweringTable = lowerings({
  'aten::convolution': convolution,
  'aten::convolution_backward': convolutionBackward,
});
