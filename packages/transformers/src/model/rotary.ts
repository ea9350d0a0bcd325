/**
 * @file Rotary positions: pairs of elements of each head, half a rotation apart in memory, turned by an angle that
 * grows with the position. @see https://arxiv.org/abs/2104.09864
 */
import { type Tensor, cat, tensor } from '@tessera/tensor';
import { withRealTensors } from '@tessera/tensor/internal';
import type { Positions, RotaryScaling } from '../config/decoder-config.js';

type Rotary = Extract<Positions, { kind: 'rotary' }>;

/** Angle per position for each pair: `theta ^ (-2i / dims)`, stretched. */
function frequencies({ dims, theta, scaling }: Rotary): number[] {
  return Array.from({ length: dims / 2 }, (_, i) => stretched(theta ** ((-2 * i) / dims), scaling));
}

function stretched(frequency: number, scaling: RotaryScaling): number {
  if (scaling.kind === 'none') return frequency;
  const { factor } = scaling;
  if (scaling.kind === 'linear') return frequency / factor;
  const { lowFrequencyFactor: low, highFrequencyFactor: high, originalLength } = scaling;
  const turns = (originalLength * frequency) / (2 * Math.PI);
  if (turns < low) return frequency / factor;
  if (turns > high) return frequency;
  const share = (turns - low) / (high - low);
  return ((1 - share) * frequency) / factor + share * frequency;
}

/** Cosines and sines of all pairs, twice side by side: [B or 1, 1, T, dims]. */
export interface Rotation {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

/** Makes rotations for positions. */
export class RotaryTable {
  /** [dims / 2] */
  private readonly frequencies: Tensor;

  constructor(rotary: Rotary) {
    // Not a weight: it is there also in a model whose weights are still to be loaded.
    this.frequencies = withRealTensors(() => tensor(frequencies(rotary)));
  }

  /** `positions`: [B or 1, T], whole numbers. */
  rotation(positions: Tensor): Rotation {
    const { frequencies } = this;
    const own =
      frequencies.device === positions.device ? frequencies : frequencies.to(positions.device);
    const angles = positions.to('float32').unsqueeze(-1).mul(own).unsqueeze(1);
    const both = cat([angles, angles], -1);
    return { cos: both.cos(), sin: both.sin() };
  }
}

/** `x`: [B, heads, T, headDim]; the first elements are turned, the rest stay. */
export function rotate(x: Tensor, { cos, sin }: Rotation): Tensor {
  const dims = cos.size(-1);
  const whole = x.size(-1);
  const part = dims === whole ? x : x.narrow(-1, 0, dims);
  const half = dims / 2;
  const other = cat([part.narrow(-1, half, half).neg(), part.narrow(-1, 0, half)], -1);
  const turned = part.mul(cos).add(other.mul(sin)).to(x.dtype);
  return dims === whole ? turned : cat([turned, x.narrow(-1, dims, whole - dims)], -1);
}
