/**
 * @file Rotary positions: pairs of elements of each head, half a rotation apart in memory, turned by an angle that
 * grows with the position. @see https://arxiv.org/abs/2104.09864
 */
import { type DeviceRuntime, type DeviceType, type Tensor, cat, tensor } from '@tessera/tensor';
import { deviceRuntime, forLater } from '@tessera/tensor/internal';
import type { Positions, RotaryScaling } from '../config/decoder-config.js';

type Rotary = Extract<Positions, { kind: 'rotary' }>;

/** Angle per position for each pair: `theta ^ (-2i / dims)`, stretched. */
function frequencies({ dims, theta, scaling }: Rotary, isLong: boolean): number[] {
  const ramp = scaling.kind === 'yarn' ? rampOf(scaling, dims, theta) : null;
  return Array.from({ length: dims / 2 }, (_, i) => {
    const frequency = theta ** ((-2 * i) / dims);
    switch (scaling.kind) {
      case 'none':
      case 'dynamic':
        return frequency;
      case 'linear':
        return frequency / scaling.factor;
      case 'llama3':
        return byWavelength(frequency, scaling);
      case 'yarn':
        return mixed(frequency, scaling.factor, kept(i, ramp!));
      case 'longrope':
        return frequency / (isLong ? scaling.long : scaling.short)[i]!;
    }
  });
}

type Scaling<K extends RotaryScaling['kind']> = Extract<RotaryScaling, { kind: K }>;

function byWavelength(frequency: number, scaling: Scaling<'llama3'>): number {
  const { factor, lowFrequencyFactor: low, highFrequencyFactor: high, originalLength } = scaling;
  const turns = (originalLength * frequency) / (2 * Math.PI);
  if (turns < low) return frequency / factor;
  if (turns > high) return frequency;
  return mixed(frequency, factor, (turns - low) / (high - low));
}

/** A frequency of which `share` is kept and the rest divided. */
function mixed(frequency: number, factor: number, share: number): number {
  return ((1 - share) * frequency) / factor + share * frequency;
}

/** The first pair that is not wholly kept, and the first that is wholly divided. */
type Ramp = readonly [number, number];

function rampOf(scaling: Scaling<'yarn'>, dims: number, theta: number): Ramp {
  const { fast, slow, originalLength, whole } = scaling;
  const pairOf = (turns: number): number =>
    (dims * Math.log(originalLength / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const [first, last] = [pairOf(fast), pairOf(slow)];
  return [
    Math.max(whole ? Math.floor(first) : first, 0),
    Math.min(whole ? Math.ceil(last) : last, dims - 1),
  ];
}

/** Share of the frequency of pair `i` that is kept. */
function kept(i: number, [first, last]: Ramp): number {
  // A ramp of no length is a step.
  const length = first === last ? 0.001 : last - first;
  return 1 - Math.min(Math.max((i - first) / length, 0), 1);
}

/** Cosines and sines of all pairs, twice side by side: [B or 1, 1, T, dims]. */
export interface Rotation {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

/** Numbers on the device of whoever asks. They are copied there once: a copy of each call would cut its graph in two. */
class Table {
  private readonly here: Tensor;
  /** On the device that was asked for last, as long as that is there. */
  private there: Tensor | null = null;
  private runtime: DeviceRuntime | null = null;

  constructor(values: readonly number[]) {
    // No weights: they are there also in a model whose weights are still to be loaded.
    this.here = forLater(() => tensor([...values]));
  }

  on(device: DeviceType): Tensor {
    if (device === this.here.device) return this.here;
    const runtime = deviceRuntime(device);
    if (this.there === null || this.runtime !== runtime) {
      this.there = forLater(() => this.here.to(device));
      this.runtime = runtime;
    }
    return this.there;
  }
}

/** Makes rotations for positions. */
export class RotaryTable {
  /** [dims / 2] */
  private readonly frequencies: Table;
  /**
   * For texts longer than that of training: the frequencies (`longrope`), or the powers of the growth of `theta` that they
   * are multiplied by (`dynamic`).
   */
  private readonly long: Table | null;

  constructor(private readonly rotary: Rotary) {
    const { scaling, dims } = rotary;
    this.frequencies = new Table(frequencies(rotary, false));
    this.long = null;
    if (scaling.kind === 'longrope') this.long = new Table(frequencies(rotary, true));
    if (scaling.kind === 'dynamic')
      this.long = new Table(
        Array.from({ length: dims / 2 }, (_, i) => (i === 0 ? 0 : (-2 * i) / (dims - 2))),
      );
  }

  /** Frequencies of a text of a length. */
  private tableFor(length: number, device: DeviceType): Tensor {
    const { scaling } = this.rotary;
    const { frequencies: plain, long } = this;
    if (scaling.kind === 'longrope' && length > scaling.originalLength) return long!.on(device);
    if (scaling.kind === 'dynamic' && length > scaling.originalLength) {
      const { factor, originalLength } = scaling;
      const growth = (factor * length) / originalLength - (factor - 1);
      return plain.on(device).mul(long!.on(device).mul(Math.log(growth)).exp());
    }
    return plain.on(device);
  }

  /**
   * @param positions [B or 1, T], whole numbers
   * @param length of all that attention may see: of a cache with a length of its own that length, so that its keys
   *   are turned alike
   */
  rotation(positions: Tensor, length: number): Rotation {
    const { amplitude } = this.rotary;
    const table = this.tableFor(length, positions.device);
    const angles = positions.to('float32').unsqueeze(-1).mul(table).unsqueeze(1);
    const both = cat([angles, angles], -1);
    const [cos, sin] = [both.cos(), both.sin()];
    return amplitude === 1 ? { cos, sin } : { cos: cos.mul(amplitude), sin: sin.mul(amplitude) };
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
