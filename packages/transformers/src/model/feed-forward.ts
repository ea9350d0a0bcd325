/**
 * @file What follows the attention in a layer: one feed-forward network, or several with a router.
 */
import { Linear, Module, Parameter, functional as F } from '@tessera/nn';
import { type Tensor, empty } from '@tessera/tensor';
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

  constructor({ feedForward: { width: inner, gated, bias, activation }, width }: DecoderConfig) {
    super();
    this.gate_proj = gated ? new Linear(width, inner, { bias }) : null;
    this.up_proj = new Linear(width, inner, { bias });
    this.down_proj = new Linear(inner, width, { bias });
    this.activation = activation;
  }

  /** [B, T, width] */
  forward(x: Tensor): Tensor {
    const up = this.up_proj.call(x);
    if (this.gate_proj === null) return this.down_proj.call(activate(this.activation, up));
    return this.down_proj.call(activate(this.activation, this.gate_proj.call(x)).mul(up));
  }
}

/** The weights of all experts of a layer, stacked: gate above up, and down. */
class Experts extends Module {
  gate_up_proj: Parameter;
  down_proj: Parameter;

  constructor(count: number, width: number, inner: number) {
    super();
    const uniform = (rows: number, columns: number): Parameter => {
      const bound = columns ** -0.5;
      return new Parameter(empty([count, rows, columns]).uniform_(-bound, bound));
    };
    this.gate_up_proj = uniform(2 * inner, width);
    this.down_proj = uniform(width, inner);
  }

  override forward(): never {
    throw new Error('The router calls the experts.');
  }
}

/**
 * Several gated networks, of which the router picks some for each token; what they give is added with the softmax of
 * their scores among those picked as weights. All experts are computed for all tokens, without looking at which were
 * picked: one graph, no matter what the router says.
 */
export class MixtureOfExperts extends Module {
  gate: Linear;
  experts: Experts;

  constructor(private readonly config: DecoderConfig) {
    super();
    const { width, feedForward } = config;
    const count = feedForward.experts!.count;
    this.gate = new Linear(width, count, { bias: false });
    this.experts = new Experts(count, width, feedForward.width);
  }

  /** [B, T, width] */
  forward(x: Tensor): Tensor {
    const { activation, experts, width: inner } = this.config.feedForward;
    const tokens = x.reshape([-1, x.size(-1)]);
    const scores = F.softmax(this.gate.call(tokens), -1, { dtype: 'float32' });
    const [best, picked] = scores.topk(experts!.perToken);
    const weights = scores
      .mul(0)
      .scatter(1, picked, best.div(best.sum(-1, { keepdim: true })))
      .to(x.dtype);
    // [experts, tokens, …]
    const both = tokens.matmul(this.experts.gate_up_proj.transpose(1, 2));
    const gated = activate(activation, both.narrow(-1, 0, inner)).mul(
      both.narrow(-1, inner, inner),
    );
    const each = gated.matmul(this.experts.down_proj.transpose(1, 2));
    return each.mul(weights.t().unsqueeze(-1)).sum(0).reshape(x.sizes);
  }
}
