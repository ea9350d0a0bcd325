/**
 * @file Kaiming (He) and Xavier (Glorot) initialisation.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { checkChoice } from '../module/check-options.js';
import { type Nonlinearity, calculateFanInAndFanOut, calculateGain } from './fan.js';
import { normal_, uniform_ } from './fill.js';
import { GAIN, type GainOptions } from './gain.js';

/** Options of the Kaiming initialisers. */
export interface KaimingOptions {
  /** Slope of leaky_relu behind the layer (default 0). */
  readonly a?: number;
  /** Keep the variance forward or backward (default `fan_in`). */
  readonly mode?: 'fan_in' | 'fan_out';
  readonly nonlinearity?: Nonlinearity;
}
const KAIMING: OptionNames<KaimingOptions> = { a: true, mode: true, nonlinearity: true };

function kaimingStd(
  tensor: Tensor,
  { a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu' }: KaimingOptions,
): number {
  checkChoice('kaiming', 'mode', mode, ['fan_in', 'fan_out']);
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return calculateGain(nonlinearity, a) / Math.sqrt(mode === 'fan_in' ? fanIn : fanOut);
}

/** Uniform with the variance that keeps activations' scale. @see torch.nn.init.kaiming_uniform_ @see https://arxiv.org/abs/1502.01852 */
export function kaimingUniform_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  checkOptionNames('kaimingUniform_', options, KAIMING);
  if (tensor?.numel === 0) return tensor;
  const bound = Math.sqrt(3) * kaimingStd(tensor, options);
  return uniform_(tensor, -bound, bound);
}

/** Normal with the variance that keeps activations' scale. @see torch.nn.init.kaiming_normal_ */
export function kaimingNormal_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  checkOptionNames('kaimingNormal_', options, KAIMING);
  if (tensor?.numel === 0) return tensor;
  return normal_(tensor, 0, kaimingStd(tensor, options));
}

function xavierStd(tensor: Tensor, gain: number): number {
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return gain * Math.sqrt(2 / (fanIn + fanOut));
}

/** Uniform with the mean of forward and backward variance. @see torch.nn.init.xavier_uniform_ @see Glorot and Bengio, AISTATS 2010 */
export function xavierUniform_(tensor: Tensor, options?: GainOptions): Tensor {
  checkOptionNames('xavierUniform_', options, GAIN);
  const bound = Math.sqrt(3) * xavierStd(tensor, options?.gain ?? 1);
  return uniform_(tensor, -bound, bound);
}

/** Normal with the mean of forward and backward variance. @see torch.nn.init.xavier_normal_ */
export function xavierNormal_(tensor: Tensor, options?: GainOptions): Tensor {
  checkOptionNames('xavierNormal_', options, GAIN);
  return normal_(tensor, 0, xavierStd(tensor, options?.gain ?? 1));
}
