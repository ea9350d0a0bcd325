/**
 * @file Frequencies of a transform's results, and results with the zero frequency in the middle.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';
import { cat } from '../arrange/join.js';
import { roll } from '../arrange/rearrange.js';
import { defaultDType } from '../../default-dtype.js';
import type { TensorOptions } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { div } from '../pointwise/division.js';
import { wrapDim } from '../../shape.js';
import { checkLength } from './arguments.js';
import { checkTensors } from '../../check-tensors.js';

/** Options of `fftfreq` and `rfftfreq`: those of factories, and the time between samples. */
export interface FrequencyOptions extends TensorOptions {
  /** Time between samples (default 1). */
  readonly d?: number;
}
const FREQUENCY: OptionNames<FrequencyOptions> = {
  d: true,
  dtype: true,
  device: true,
  requiresGrad: true,
};

function scaled(whole: Tensor, n: number, d: number): Tensor {
  return div(whole, n * d);
}

/** The frequencies of `fft`'s results in cycles per unit of time, [n]: 0, 1, … and then the negative ones. @throws invalid-argument */
export function fftfreq(n: number, options: FrequencyOptions = {}): Tensor {
  checkOptionNames('fftfreq', options, FREQUENCY);
  const { d = 1, dtype = defaultDType(), ...rest } = options;
  const middle = (checkLength(n) + 1) >> 1;
  const positive = arange(0, middle, 1, { dtype, ...rest });
  return scaled(cat([positive, arange(middle - n, 0, 1, { dtype, ...rest })]), n, d);
}

/** The frequencies of `rfft`'s results in cycles per unit of time, [⌊n/2⌋ + 1]. @throws invalid-argument */
export function rfftfreq(n: number, options: FrequencyOptions = {}): Tensor {
  checkOptionNames('rfftfreq', options, FREQUENCY);
  const { d = 1, dtype = defaultDType(), ...rest } = options;
  return scaled(arange(0, (checkLength(n) >> 1) + 1, 1, { dtype, ...rest }), n, d);
}

/** Options of `fftshift` and `ifftshift`. */
export interface ShiftOptions {
  /** Dimensions (default: all). */
  readonly dim?: number | readonly number[] | null;
  /** Whether the last dimension holds pairs (default false): it is not shifted, and `dim` does not count it. */
  readonly pairs?: boolean;
}
const SHIFT: OptionNames<ShiftOptions> = { dim: true, pairs: true };

function shifted(self: Tensor, options: ShiftOptions, by: (size: number) => number): Tensor {
  checkTensors('fftshift', { self });
  const { dim = null, pairs = false } = options;
  const ndim = self.ndim - (pairs ? 1 : 0);
  const given = typeof dim === 'number' ? [dim] : dim;
  const dims = (given ?? Array.from({ length: ndim }, (_, d) => d)).map((d) =>
    wrapDim(d, ndim, 'fftshift'),
  );
  if (dims.length === 0) return self;
  return roll(
    self,
    dims.map((d) => by(self.sizes[d]!)),
    dims,
  );
}

/** Results with the zero frequency moved to the middle. @throws invalid-dim */
export function fftshift(self: Tensor, options: ShiftOptions = {}): Tensor {
  checkOptionNames('fftshift', options, SHIFT);
  return shifted(self, options, (size) => size >> 1);
}

/** The inverse of `fftshift`. @throws invalid-dim */
export function ifftshift(self: Tensor, options: ShiftOptions = {}): Tensor {
  checkOptionNames('ifftshift', options, SHIFT);
  return shifted(self, options, (size) => (size + 1) >> 1);
}
