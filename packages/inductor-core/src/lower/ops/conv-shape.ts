/**
 * @file The geometry of a convolution over any number of spatial dimensions.
 */
import { sizeHint } from '@tessera/shared';
import { within } from '../within.js';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { intList, type IntListArg } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type Shape, numelOf } from '../shape-math.js';
import type { RuntimeScalar } from '../registry.js';
import type { DType } from '@tessera/tensor';

/** Parameters per spatial dimension, and the number of groups. */
export interface ConvGeometry {
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

/** What a convolution makes. */
export interface ConvTarget {
  readonly sizes: Shape;
  readonly dtype: DType;
  /** Strides of its memory; null for row-major. */
  readonly layout: Shape | null;
}

/** Fewer pixels, or more taps, are not worth a product of one row. */
const MIN_PIXELS = 32;
const MAX_TAPS = 64;

/** Whether pixels that see the image at constant distances are worth a product of their own kind. */
export function fitsWindows(
  { sizes, dtype }: Pick<ConvTarget, 'sizes' | 'dtype'>,
  taps: readonly number[],
): boolean {
  const count = sizes.slice(2).reduce<number>((n, size) => n * sizeHint(size), 1);
  return dtype === 'float32' && count >= MIN_PIXELS && Number(numelOf(taps)) <= MAX_TAPS;
}

/** Reads stride, padding and dilation for `spatial` dimensions. */
export function convGeometry(
  spatial: number,
  stride: IntListArg,
  padding: IntListArg,
  dilation: IntListArg,
  groups: number | RuntimeScalar,
): ConvGeometry {
  return {
    stride: intList(stride, spatial),
    padding: intList(padding, spatial),
    dilation: intList(dilation, spatial),
    groups: Number(groups),
  };
}

/** A load guarded by the conditions that its coordinates exist. */
export function guardedLoad(
  l: Lowering,
  x: LoweredTensor,
  coords: readonly IndexExpr[],
  conditions: readonly Expr[],
): Expr {
  const mask = conditions.reduce((a, b) => l.ir.op('and', [a, b]), l.ir.const('bool', 1));
  return l.ir.masked(
    mask,
    x.load(coords.map((coord, d) => (x.shape[d] === 1 ? l.ir.int(0) : coord))),
    0,
  );
}

/** Input positions under output positions `out` and kernel positions `tap`, with their bounds checks. */
export function inputPositions(
  l: Lowering,
  geometry: ConvGeometry,
  sizes: Shape,
  out: readonly IndexExpr[],
  tap: readonly IndexExpr[],
): { readonly coords: IndexExpr[]; readonly inside: Expr[] } {
  const coords = sizes.map((_, d) =>
    l.ir.add(
      l.ir.scale(out[d]!, geometry.stride[d]!),
      l.ir.scale(tap[d]!, geometry.dilation[d]!),
      l.ir.int(-geometry.padding[d]!),
    ),
  );
  return { coords, inside: coords.map((coord, d) => within(l, coord, 0, sizes[d]!)) };
}

/** Output positions that read input positions `at` through kernel positions `tap`, with their checks. */
export function outputPositions(
  l: Lowering,
  geometry: ConvGeometry,
  sizes: Shape,
  kernel: readonly number[],
  at: readonly IndexExpr[],
  tap: readonly IndexExpr[],
): { readonly coords: IndexExpr[]; readonly inside: Expr[] } {
  const coords: IndexExpr[] = [];
  const inside: Expr[] = [];
  sizes.forEach((size, d) => {
    const stride = geometry.stride[d]!;
    const dilation = geometry.dilation[d]!;
    // Shifted up by whole strides so that nothing negative is divided.
    const shift = Math.ceil((dilation * (kernel[d]! - 1)) / stride);
    const scaled = l.ir.add(
      at[d]!,
      l.ir.int(geometry.padding[d]! + shift * stride),
      l.ir.scale(tap[d]!, -dilation),
    );
    const position = l.ir.sub(l.ir.div(scaled, stride), l.ir.int(shift));
    coords.push(position);
    inside.push(within(l, position, 0, size));
    if (stride > 1)
      inside.push(
        l.ir.op('eq', [l.ir.index('int32', l.ir.mod(scaled, stride)), l.ir.const('int32', 0)]),
      );
  });
  return { coords, inside };
}
