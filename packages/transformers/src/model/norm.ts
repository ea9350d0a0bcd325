/**
 * @file Norms of a decoder: root mean square, with weights from zero or from one, or layer norm.
 */
import { LayerNorm, Module, Parameter, RMSNorm, functional as F } from '@tessera/nn';
import { type Tensor, zeros } from '@tessera/tensor';
import type { DecoderConfig } from '../config/decoder-config.js';

/** Root mean square 1, times 1 + weight, in float32. @see Gemma */
export class RMSNormFromOne extends Module {
  weight: Parameter;

  constructor(
    width: number,
    private readonly eps: number,
  ) {
    super();
    this.weight = new Parameter(zeros([width]));
  }

  /** […, width] */
  forward(x: Tensor): Tensor {
    const weight = this.weight.to('float32').add(1);
    return F.rmsNorm(x.to('float32'), weight.sizes, { weight, eps: this.eps }).to(x.dtype);
  }
}

/** A norm of the decoder. */
export type Norm = RMSNorm | RMSNormFromOne | LayerNorm;

/** A norm over `width` elements, as the decoder has it. */
export function makeNorm({ norm }: DecoderConfig, width: number): Norm {
  if (norm.kind === 'layer') return new LayerNorm(width, { eps: norm.eps });
  if (norm.kind === 'rms') return new RMSNorm(width, { eps: norm.eps });
  return new RMSNormFromOne(width, norm.eps);
}
