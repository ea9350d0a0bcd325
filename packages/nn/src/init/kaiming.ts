/**
 * @file Kaiming (He) and Xavier (Glorot) initialisation.
 */
import type { Tensor } from '@tessera/tensor';
import { type Nonlinearity, calculateFanInAndFanOut, calculateGain } from './fan.js';
import { normal_, uniform_ } from './fill.js';

/** Options of the Kaiming initialisers. */
export interface KaimingOptions {
  /** Slope of leaky_relu behind the layer (default 0). */
  readonly a?: number;
  /** Keep the variance forward or backward (default `fan_in`). */
  readonly mode?: 'fan_in' | 'fan_out';
  readonly nonlinearity?: Nonlinearity;
}

function kaimingStd(
  tensor: Tensor,
  { a = 0, mode = 'fan_in', nonlinearity = 'leaky_relu' }: KaimingOptions,
): number {
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return calculateGain(nonlinearity, a) / Math.sqrt(mode === 'fan_in' ? fanIn : fanOut);
}

/** Uniform with the variance that keeps activations' scale. @see torch.nn.init.kaiming_uniform_ @see https://arxiv.org/abs/1502.01852 */
export function kaimingUniform_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  if (tensor.numel === 0) return tensor;
  const bound = Math.sqrt(3) * kaimingStd(tensor, options);
  return uniform_(tensor, -bound, bound);
}

/** Normal with the variance that keeps activations' scale. @see torch.nn.init.kaiming_normal_ */
export function kaimingNormal_(tensor: Tensor, options: KaimingOptions = {}): Tensor {
  if (tensor.numel === 0) return tensor;
  return normal_(tensor, 0, kaimingStd(tensor, options));
}

function xavierStd(tensor: Tensor, gain: number): number {
  const [fanIn, fanOut] = calculateFanInAndFanOut(tensor);
  return gain * Math.sqrt(2 / (fanIn + fanOut));
}

/** Uniform with the mean of forward and backward variance. @see torch.nn.init.xavier_uniform_ @see Glorot and Bengio, AISTATS 2010 */
export function xavierUniform_(tensor: Tensor, gain = 1): Tensor {
  const bound = Math.sqrt(3) * xavierStd(tensor, gain);
  return uniform_(tensor, -bound, bound);
}

/** Normal with the mean of forward and backward variance. @see torch.nn.init.xavier_normal_ */
export function xavierNormal_(tensor: Tensor, gain = 1): Tensor {
  return normal_(tensor, 0, xavierStd(tensor, gain));
}
