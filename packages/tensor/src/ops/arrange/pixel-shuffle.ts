/**
 * @file Exchanging channels and pixels: pixel_shuffle, pixel_unshuffle, channel_shuffle.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { suggestsChannelsLast } from '../../kernels/suggest-format.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { alias } from '../view/alias.js';
import { clone } from './copy.js';
import { permute, reshape } from '../view/view.js';

function refuse(message: string): never {
  throw new TesseraError('shape-mismatch', message, {
    hints: ['The input is [..., channels, height, width].'],
  });
}

/** A fresh result in the memory format of the input. */
function inFormatOf(self: Tensor, result: Tensor): Tensor {
  const channelsLast = self.ndim === 4 && suggestsChannelsLast(self);
  return clone(result, { memoryFormat: channelsLast ? 'channelsLast' : 'contiguous' });
}

/** Leading sizes, channels, height and width. */
function image(self: Tensor, name: string): [number[], number, number, number] {
  if (self.ndim < 3)
    refuse(
      `${name} expects input to have at least 3 dimensions, but got input with ${self.ndim} dimension(s)`,
    );
  const [c, h, w] = self.sizes.slice(-3);
  return [self.sizes.slice(0, -3), c, h, w];
}

function leading(lead: readonly number[]): number[] {
  return lead.map((_, i) => i);
}

const pixelShuffleOp = defineOp('aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor', {
  decompose: ({ self, upscale_factor: r }) => {
    const [lead, c, h, w] = image(self, 'pixel_shuffle');
    if (!(r > 0)) refuse(`pixel_shuffle expects a positive upscale_factor, but got ${r}`);
    if (c % (r * r) !== 0) refuse(`pixel_shuffle: ${c} channels are not divisible by ${r * r}`);
    const n = lead.length;
    const split = reshape(self, [...lead, c / (r * r), r, r, h, w]);
    const order = [...leading(lead), n, n + 3, n + 1, n + 4, n + 2];
    return inFormatOf(self, reshape(permute(split, order), [...lead, c / (r * r), h * r, w * r]));
  },
});

const pixelUnshuffleOp = defineOp(
  'aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor',
  {
    decompose: ({ self, downscale_factor: r }) => {
      const [lead, c, h, w] = image(self, 'pixel_unshuffle');
      if (!(r > 0)) refuse(`pixel_unshuffle expects a positive downscale_factor, but got ${r}`);
      if (h % r !== 0 || w % r !== 0)
        refuse(`pixel_unshuffle: height ${h} and width ${w} are not both divisible by ${r}`);
      const n = lead.length;
      const split = reshape(self, [...lead, c, h / r, r, w / r, r]);
      const order = [...leading(lead), n, n + 2, n + 4, n + 1, n + 3];
      return inFormatOf(self, reshape(permute(split, order), [...lead, c * r * r, h / r, w / r]));
    },
  },
);

const channelShuffleOp = defineOp('aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor', {
  decompose: ({ self: x, groups: g }) => {
    if (x.ndim < 3)
      refuse(`channel_shuffle expects input with > 2 dims, but got input with ${x.ndim} dims`);
    const c = x.sizes[1]!;
    if (!(g > 0))
      refuse(`Number of groups to divide channels in must be positive. Value of groups:${g}`);
    if (c % g !== 0)
      refuse(`Number of channels must be divisible by groups. Got ${c} channels and ${g} groups.`);
    if (x.numel === 0) return alias(x);
    const split = reshape(x, [x.sizes[0]!, g, c / g, -1]);
    return inFormatOf(x, reshape(permute(split, [0, 2, 1, 3]), x.sizes));
  },
});

/** [..., C·r², H, W] → [..., C, H·r, W·r]. @throws shape-mismatch */
export function pixelShuffle(self: Tensor, upscaleFactor: number): Tensor {
  return callOp(pixelShuffleOp, [self, upscaleFactor]);
}

/** [..., C, H·r, W·r] → [..., C·r², H, W]. @throws shape-mismatch */
export function pixelUnshuffle(self: Tensor, downscaleFactor: number): Tensor {
  return callOp(pixelUnshuffleOp, [self, downscaleFactor]);
}

/** Channels (dimension 1) of `groups` groups interleaved. @throws shape-mismatch */
export function channelShuffle(self: Tensor, groups: number): Tensor {
  return callOp(channelShuffleOp, [self, groups]);
}
