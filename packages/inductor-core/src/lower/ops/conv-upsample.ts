/**
 * @file Transposed convolutions whose windows lie side by side: the kernel is as large as the stride.
 *
 * Each pixel of the result has one tap, so the convolution is a plain matrix product over pixels of the input, whose
 * rows are channels and taps; where a result goes is index arithmetic. As a gather (`convGradInput`), every pixel would
 * ask for all taps, of which all but one lie between pixels of the input.
 */
import { sizeKnown, sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
import type { ConvGeometry, ConvTarget } from './conv-shape.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';

/** Whether `grad` (at the windows' places) and `sizes` (of the pixels) fit: windows tile the image without gaps. */
export function windowsTile(
  grad: LoweredTensor,
  weight: LoweredTensor,
  { stride, padding, dilation }: ConvGeometry,
  { sizes }: ConvTarget,
): boolean {
  return stride.every(
    (step, d) =>
      weight.sizes[2 + d] === step &&
      padding[d] === 0 &&
      (dilation[d] === 1 || step === 1) &&
      sizeKnown(sizes[2 + d]!, '==', sizeMul(grad.shape[2 + d]!, step)) === true,
  );
}

/** Σ over channels of grad · weight, one tap for each pixel; weight is [Cout, Cin / groups, …kernel]. */
export function convOfTiles(
  l: Lowering,
  g: LoweredTensor,
  w: LoweredTensor,
  { groups, stride }: ConvGeometry,
  { sizes, dtype, layout }: ConvTarget,
): LoweredTensor {
  const channels = w.sizes[1]!;
  const channelsOut = w.sizes[0]! / groups;
  const windows = [g.shape[0]!, ...g.shape.slice(2)];
  const taps = [channels, ...stride];
  const weight = (
    [group]: readonly IndexExpr[],
    [channel, ...tap]: readonly IndexExpr[],
    [c]: readonly IndexExpr[],
  ) => w.load([l.ir.add(l.ir.scale(group!, channelsOut), c!), channel!, ...tap]);
  const image = (
    [group]: readonly IndexExpr[],
    [at, ...pixel]: readonly IndexExpr[],
    [c]: readonly IndexExpr[],
  ) => g.load([at!, l.ir.add(l.ir.scale(group!, channelsOut), c!), ...pixel]);
  const channelsLast = layout !== null && layout[1] === 1 && sizes[1] !== 1;
  // The channel is the fastest where it is so in memory.
  const inMemory = (tap: readonly IndexExpr[]): readonly IndexExpr[] =>
    channelsLast ? [tap[tap.length - 1]!, ...tap.slice(0, -1)] : tap;
  const rows = channelsLast ? [...stride, channels] : taps;
  return contract(l, {
    shape: {
      batch: [groups],
      m: channelsLast ? windows : rows,
      n: channelsLast ? rows : windows,
      k: [channelsOut],
    },
    a: (batch, m, k) => (channelsLast ? image(batch, m, k) : weight(batch, m, k)),
    b: (batch, k, n) => (channelsLast ? weight(batch, inMemory(n), k) : image(batch, n, k)),
    sizes,
    dtype,
    layout,
    coords: ({ batch, m, n }) => {
      const [at, ...window] = channelsLast ? m : n;
      const [channel, ...tap] = inMemory(channelsLast ? n : m);
      return [
        at!,
        l.ir.add(l.ir.scale(batch[0]!, channels), channel!),
        ...window.map((place, d) => l.ir.add(l.ir.scale(place, stride[d]!), tap[d]!)),
      ];
    },
    decode: ([at, channel, ...pixel]) => {
      const window = pixel.map((place, d) => l.ir.div(place, stride[d]!));
      const tap = pixel.map((place, d) => l.ir.mod(place, stride[d]!));
      const within = l.ir.mod(channel!, channels);
      const row = channelsLast ? [...tap, within] : [within, ...tap];
      const column = [at!, ...window];
      return {
        batch: [l.ir.div(channel!, channels)],
        m: channelsLast ? column : row,
        n: channelsLast ? row : column,
      };
    },
  });
}
