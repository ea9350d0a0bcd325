/**
 * @file What follows the attention in a layer: one feed-forward network, or several with a router.
 */
import { Linear, Module, functional as F } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import type { ActivationName, DecoderConfig } from '../config/decoder-config.js';

/** An activation by name. */
export function activate(name: ActivationName, x: Tensor): Tensor {
  switch (name) {
    case 'silu':
      return F.silu(x);
    case 'gelu':
      return F.gelu(x);
    case 'gelu_tanh':
      return F.gelu(x, { approximate: 'tanh' });
    case 'relu':
      return F.relu(x);
  }
}

/** `down(act(gate(x)) · up(x))`, or `down(act(up(x)))`. */
export class FeedForward extends Module {
  gate_proj: Linear | null;
  up_proj: Linear;
  down_proj: Linear;
  private readonly activation: ActivationName;

  /** @param inner how wide it is between the maps */
  constructor(
    { feedForward: { width: own, gated, bias, activation }, width }: DecoderConfig,
    inner: number = own,
  ) {
    super();
    this.gate_proj = gated ? new Linear(width, inner, { bias }) : null;
    this.up_proj = new Linear(width, inner, { bias });
    this.down_proj = new Linear(inner, width, { bias });
    this.activation = activation;
  }

  /** What `down` maps, […, width] → […, inner]. */
  between(x: Tensor): Tensor {
    const up = this.up_proj.call(x);
    if (this.gate_proj === null) return activate(this.activation, up);
    return activate(this.activation, this.gate_proj.call(x)).mul(up);
  }

  /** [B, T, width] */
  forward(x: Tensor): Tensor {
    return this.down_proj.call(this.between(x));
  }
}

/**
 * Several networks, of which the router picks some for each token; what they give is added with the softmax of their
 * scores among those picked as weights. All experts are computed for all tokens, without looking at which were picked:
 * one graph, no matter what the router says.
 *
 * So the experts of a layer are one network as wide as all of them, in which each expert's part counts by its weight:
 * `down` of all parts side by side is the sum. Its maps are linear ones like others, which can be rounded to few bits.
 */
export class MixtureOfExperts extends Module {
  gate: Linear;
  experts: FeedForward;
  private readonly perToken: number;

  constructor(config: DecoderConfig) {
    super();
    const { width, feedForward } = config;
    const { count, perToken } = feedForward.experts!;
    this.gate = new Linear(width, count, { bias: false });
    this.experts = new FeedForward(config, count * feedForward.width);
    this.perToken = perToken;
  }

  /** [B, T, width] */
  forward(x: Tensor): Tensor {
    const scores = F.softmax(this.gate.call(x), -1, { dtype: 'float32' });
    const [best, picked] = scores.topk(this.perToken);
    const weights = scores
      .mul(0)
      .scatter(-1, picked, best.div(best.sum(-1, { keepdim: true })))
      .to(x.dtype);
    const parts = this.experts.between(x);
    const weighted = parts.reshape([...weights.sizes, -1]).mul(weights.unsqueeze(-1));
    return this.experts.down_proj.call(weighted.reshape(parts.sizes));
  }
}
