/**
 * @file Transposed convolutions with strides, which are the gradients of convolutions with strides.
 *
 * A pixel `stride · window + phase` has the taps `phase + stride · u` only, of which tap u sees place `window - u`
 * whatever the phase. So the convolution is one of windows without strides, with channels and phases as its rows; where
 * a result goes is index arithmetic. As a gather (`convGradInput`), every pixel would ask for all taps, most of which lie
 * between places. Windows may begin before the first pixel and end behind the last one: what is outside is not shown.
 */
import { sizeAdd, sizeCeilDiv, sizeKnown, sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
import { type ConvGeometry, type ConvTarget, fitsWindows, guardedLoad } from './conv-shape.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { rowMajorStrides } from '../shape-math.js';
import { sliceTensor } from './view-maps.js';
import { within } from '../within.js';

/** Whether the convolution is made of phases; without strides only if there is nothing but phases. */
export function hasPhases({ stride, dilation }: ConvGeometry, kernel: readonly number[]): boolean {
  return (
    dilation.every((step, d) => step === 1 || kernel[d] === 1) &&
    (stride.some((step) => step > 1) || kernel.every((taps) => taps === 1))
  );
}

/** Σ over channels and taps of grad · weight; weight is [Cout, Cin / groups, …kernel]. */
export function convOfPhases(
  l: Lowering,
  g: LoweredTensor,
  w: LoweredTensor,
  { groups, stride, padding }: ConvGeometry,
  { sizes, dtype, layout }: ConvTarget,
): LoweredTensor {
  const channels = w.sizes[1]!;
  const channelsOut = w.sizes[0]! / groups;
  const kernel = w.sizes.slice(2);
  const places = g.shape.slice(2);
  // What pixels and windows begin with: a rest of the padding, and windows of nothing but padding.
  const starts = padding.map((each, d) => each % stride[d]!);
  const skipped = padding.map((each, d) => Math.floor(each / stride[d]!));
  const windows = places.map((count, d) => {
    const end = sizeAdd(sizes[2 + d]!, starts[d]!);
    const fits = sizeKnown(end, '==', sizeMul(count, stride[d]!)) === true;
    return fits ? count : sizeCeilDiv(end, stride[d]!);
  });
  const whole = [...sizes.slice(0, 2), ...windows.map((count, d) => sizeMul(count, stride[d]!))];
  const taps = kernel.map((count, d) => Math.ceil(count / stride[d]!));
  const weight = (
    [group]: readonly IndexExpr[],
    [channel, ...phase]: readonly IndexExpr[],
    [c, ...tap]: readonly IndexExpr[],
  ) => {
    const at = phase.map((place, d) => l.ir.add(place, l.ir.scale(tap[d]!, stride[d]!)));
    const inside = at.flatMap((place, d) => {
      const count = kernel[d]!;
      return count % stride[d]! ? [within(l, place, 0, count)] : [];
    });
    return guardedLoad(
      l,
      w,
      [l.ir.add(l.ir.scale(group!, channelsOut), c!), channel!, ...at],
      inside,
    );
  };
  const image = (
    [group]: readonly IndexExpr[],
    [at, ...window]: readonly IndexExpr[],
    [c, ...tap]: readonly IndexExpr[],
  ) => {
    const place = window.map((each, d) => l.ir.sub(l.ir.add(each, l.ir.int(skipped[d]!)), tap[d]!));
    return guardedLoad(
      l,
      g,
      [at!, l.ir.add(l.ir.scale(group!, channelsOut), c!), ...place],
      place.map((each, d) => within(l, each, 0, places[d]!)),
    );
  };
  const channelsLast = layout !== null && layout[1] === 1 && sizes[1] !== 1;
  // The channel is the fastest where it is so in memory.
  const inMemory = (row: readonly IndexExpr[]): readonly IndexExpr[] =>
    channelsLast ? [row[row.length - 1]!, ...row.slice(0, -1)] : row;
  const rows = channelsLast ? [...stride, channels] : [channels, ...stride];
  const columns = [g.shape[0]!, ...windows];
  const phases = stride.reduce((count, step) => count * step, 1);
  const product = contract(l, {
    shape: {
      batch: [groups],
      m: channelsLast ? columns : rows,
      n: channelsLast ? rows : columns,
      k: [channelsOut, ...taps],
    },
    a: (batch, m, k) => (channelsLast ? image(batch, m, k) : weight(batch, m, k)),
    b: (batch, k, n) => (channelsLast ? weight(batch, inMemory(n), k) : image(batch, n, k)),
    sizes: whole,
    dtype,
    layout: channelsLast ? channelsLastStrides(whole) : null,
    windows:
      !channelsLast &&
      taps.some((count) => count > 1) &&
      l.capabilities.windows === true &&
      fitsWindows({ sizes, dtype }, taps),
    fewRows: channelsOut === 1 ? phases : 1,
    coords: ({ batch, m, n }) => {
      const [at, ...window] = channelsLast ? m : n;
      const [channel, ...phase] = inMemory(channelsLast ? n : m);
      return [
        at!,
        l.ir.add(l.ir.scale(batch[0]!, channels), channel!),
        ...window.map((place, d) => l.ir.add(l.ir.scale(place, stride[d]!), phase[d]!)),
      ];
    },
    decode: ([at, channel, ...pixel]) => {
      const window = pixel.map((place, d) => l.ir.div(place, stride[d]!));
      const phase = pixel.map((place, d) => l.ir.mod(place, stride[d]!));
      const own = l.ir.mod(channel!, channels);
      const row = channelsLast ? [...phase, own] : [own, ...phase];
      const column = [at!, ...window];
      return {
        batch: [l.ir.div(channel!, channels)],
        m: channelsLast ? column : row,
        n: channelsLast ? row : column,
      };
    },
  });
  return starts.reduce(
    (shown, start, d) => sliceTensor(l, shown, 2 + d, start, sizes[2 + d]!, 1),
    product,
  );
}

/** Strides of images whose pixels are lists of channels. */
function channelsLastStrides([
  images,
  channels,
  ...pixels
]: ConvTarget['sizes']): ConvTarget['sizes'] {
  const [image, ...rest] = rowMajorStrides([images!, ...pixels, channels!]);
  return [image!, 1, ...rest.slice(0, -1)];
}
