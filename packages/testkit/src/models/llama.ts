/**
 * @file LLaMA: rotary positions, RMS norms, gated feed-forward, fewer heads for keys than for queries.
 *
 * Names are those of `LlamaForCausalLM`.
 *
 * @see https://arxiv.org/abs/2302.13971
 * @see https://arxiv.org/abs/2104.09864 (rotary positions)
 */
import { Embedding, Linear, Module, RMSNorm, functional as F, optim } from '@tessera/nn';
import { type Tensor, arange, cat, outer, tensor } from '@tessera/tensor';
import { nextTokenLoss } from './next-token-loss.js';
import type { RecordedModel } from './recorded-model.js';

const LAYERS = 2;
const WIDTH = 64;
const INNER = 128;
const HEADS = 4;
const KEY_HEADS = 2;
const HEAD_WIDTH = WIDTH / HEADS;
const VOCABULARY = 257;
const ROPE_THETA = 10_000;
const EPS = 1e-6;

/** Cosines and sines of the angles of each position, [T, head width]. */
function rotaryAngles(length: number): { cos: Tensor; sin: Tensor } {
  const frequencies = Array.from(
    { length: HEAD_WIDTH / 2 },
    (_, i) => 1 / ROPE_THETA ** ((2 * i) / HEAD_WIDTH),
  );
  const half = outer(arange(length), tensor(frequencies));
  const angles = cat([half, half], -1);
  return { cos: angles.cos(), sin: angles.sin() };
}

/** Rotates pairs (i, i + half) of each head's features by the angle of their position. */
function rotate(x: Tensor, { cos, sin }: { cos: Tensor; sin: Tensor }): Tensor {
  const [first, second] = x.chunk(2, -1);
  return x.mul(cos).add(cat([second.neg(), first], -1).mul(sin));
}

class Attention extends Module {
  q_proj = new Linear(WIDTH, HEADS * HEAD_WIDTH, { bias: false });
  k_proj = new Linear(WIDTH, KEY_HEADS * HEAD_WIDTH, { bias: false });
  v_proj = new Linear(WIDTH, KEY_HEADS * HEAD_WIDTH, { bias: false });
  o_proj = new Linear(HEADS * HEAD_WIDTH, WIDTH, { bias: false });

  override forward(x: Tensor, angles: { cos: Tensor; sin: Tensor }): Tensor {
    const [n, t] = x.sizes;
    const heads = (part: Tensor): Tensor => part.reshape([n, t, -1, HEAD_WIDTH]).transpose(1, 2);
    const query = rotate(heads(this.q_proj.call(x)), angles);
    const key = rotate(heads(this.k_proj.call(x)), angles);
    const value = heads(this.v_proj.call(x));
    const mixed = F.scaledDotProductAttention(query, key, value, {
      isCausal: true,
      enableGqa: true,
    });
    return this.o_proj.call(mixed.transpose(1, 2).reshape([n, t, WIDTH]));
  }
}

class Mlp extends Module {
  gate_proj = new Linear(WIDTH, INNER, { bias: false });
  up_proj = new Linear(WIDTH, INNER, { bias: false });
  down_proj = new Linear(INNER, WIDTH, { bias: false });

  override forward(x: Tensor): Tensor {
    return this.down_proj.call(F.silu(this.gate_proj.call(x)).mul(this.up_proj.call(x)));
  }
}

class DecoderLayer extends Module {
  self_attn = new Attention();
  mlp = new Mlp();
  input_layernorm = new RMSNorm(WIDTH, { eps: EPS });
  post_attention_layernorm = new RMSNorm(WIDTH, { eps: EPS });

  override forward(x: Tensor, angles: { cos: Tensor; sin: Tensor }): Tensor {
    const attended = x.add(this.self_attn.call(this.input_layernorm.call(x), angles));
    return attended.add(this.mlp.call(this.post_attention_layernorm.call(attended)));
  }
}

class Decoder extends Module {
  embed_tokens = new Embedding(VOCABULARY, WIDTH);
  layers = Array.from({ length: LAYERS }, () => new DecoderLayer());
  norm = new RMSNorm(WIDTH, { eps: EPS });

  override forward(ids: Tensor): Tensor {
    const angles = rotaryAngles(ids.sizes[1]!);
    let x = this.embed_tokens.call(ids);
    for (const layer of this.layers) x = layer.call(x, angles);
    return this.norm.call(x);
  }
}

class Llama extends Module {
  model = new Decoder();
  lm_head = new Linear(WIDTH, VOCABULARY, { bias: false });

  /** [N, T] → [N, T, vocabulary] */
  override forward(ids: Tensor): Tensor {
    return this.lm_head.call(this.model.call(ids));
  }
}

export const llama: RecordedModel = {
  name: 'llama_tiny',
  build: () => new Llama(),
  loss: nextTokenLoss,
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 1e-3, weightDecay: 0.01 }),
};
