/**
 * @file Patches of images as columns, and columns summed back: index arithmetic, both as gathers.
 */
import { within } from '../within.js';
import { type Size, sizeAdd, sizeFloorDiv } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { ready, sumOver } from './pool-backward.js';
import { type Window, windowOf } from './pool.js';
import { accumulateDtype } from '../reduce.js';
import { type Shape, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Digits of a flat index, outermost first. */
function split(l: Lowering, flat: IndexExpr, sizes: Shape): IndexExpr[] {
  return sizes.map((size, d) => {
    const digit = l.ir.div(flat, numelOf(sizes.slice(d + 1)));
    return d === 0 ? digit : l.ir.mod(digit, size);
  });
}

function windowsOf(window: Window, image: Shape): Size[] {
  return image.map((size, s) => {
    const span = window.dilation[s]! * (window.kernel[s]! - 1) + 1;
    const room = sizeAdd(size, 2 * window.padding[s]! - span);
    return sizeAdd(sizeFloorDiv(room, window.stride[s]!), 1);
  });
}

function inImage(l: Lowering, x: LoweredTensor, coords: readonly IndexExpr[]): IndexExpr[] {
  return coords.map((coord, d) => (x.shape[d] === 1 ? l.ir.int(0) : coord));
}

/** Arguments: self, kernel, dilation, padding, stride. */
const im2col: LoweringOf<'aten::im2col'> = (l, [self, kernel, dilation, padding, stride], call) => {
  const x = ready(l, self);
  const window = windowOf(2, kernel, stride, padding, dilation);
  const image = x.shape.slice(-2);
  const windows = windowsOf(window, image);
  const vars = l.vars(call.shape);
  const [row, column] = vars.slice(-2);
  const [channel, ...tap] = split(l, row, [x.shape.at(-3)!, ...window.kernel]);
  const at = split(l, column, windows).map((o, s) =>
    l.ir.add(
      l.ir.scale(o, window.stride[s]!),
      l.ir.scale(tap[s]!, window.dilation[s]!),
      l.ir.int(-window.padding[s]!),
    ),
  );
  const inside = at
    .map((coord, s) => within(l, coord, 0, image[s]!))
    .reduce((a, b) => l.ir.op('and', [a, b]));
  const coords = inImage(l, x, [...vars.slice(0, -2), channel!, ...at]);
  return l.pointwise(call.shape, l.ir.masked(inside, x.load(coords), 0));
};

/** Arguments: self, output_size, kernel, dilation, padding, stride. */
const col2im: LoweringOf<'aten::col2im'> = (
  l,
  [self, , kernel, dilation, padding, stride],
  call,
) => {
  const x = ready(l, self);
  const window = windowOf(2, kernel, stride, padding, dilation);
  const windows = windowsOf(window, call.shape.slice(-2));
  const vars = l.vars(call.shape);
  const acc = accumulateDtype(call.dtype);
  const [channel, ...pixel] = vars.slice(-3);
  const total = sumOver(l, call.shape, window.kernel, (tap) => {
    let exists: Expr = l.ir.const('bool', 1);
    const at = pixel.map((v, s) => {
      const from = l.ir.add(
        v,
        l.ir.int(window.padding[s]!),
        l.ir.scale(tap[s]!, -window.dilation[s]!),
      );
      const o = l.ir.div(from, window.stride[s]!);
      const exact = l.ir.op('eq', [
        l.ir.index('int32', l.ir.scale(o, window.stride[s]!)),
        l.ir.index('int32', from),
      ]);
      exists = l.ir.op('and', [exists, l.ir.op('and', [within(l, o, 0, windows[s]!), exact])]);
      return o;
    });
    const row = l.ir.add(
      l.ir.scale(l.ir.add(l.ir.scale(channel, window.kernel[0]!), tap[0]!), window.kernel[1]!),
      tap[1]!,
    );
    const column = l.ir.add(l.ir.scale(at[0]!, windows[1]!), at[1]!);
    const coords = inImage(l, x, [...vars.slice(0, -3), row, column]);
    return l.ir.masked(exists, l.ir.cast(x.load(coords), acc), 0);
  });
  return l.pointwise(call.shape, l.ir.cast(total, call.dtype));
};

/** Lowerings by overload name. */
export const im2colLowerings: LoweringTable = lowerings({
  'aten::im2col': im2col,
  'aten::col2im': col2im,
});
