/**
 * @file Causal attention with shared heads of key and value, over what a cache holds.
 */
import { Linear, Module, functional as F } from '@tessera/nn';
import { type Tensor, where } from '@tessera/tensor';
import type { LayerCache } from '../cache/kv-cache.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { type Norm, makeNorm } from './norm.js';
import { type Rotation, rotate } from './rotary.js';

/** What all layers of one call share. */
export interface AttentionContext {
  readonly rotation: Rotation | null;
  /** For each window that a layer has: where queries may look, [B or 1, 1, T, S] of bool. */
  readonly maskFor: (window: number | null) => Tensor;
}

/** See the file header. */
export class Attention extends Module {
  q_proj: Linear;
  k_proj: Linear;
  v_proj: Linear;
  o_proj: Linear;
  q_norm: Norm | null = null;
  k_norm: Norm | null = null;
  private readonly window: number | null;
  private readonly scale: number;

  constructor(
    private readonly config: DecoderConfig,
    layer: number,
  ) {
    super();
    const { attention, width } = config;
    const [all, shared] = [attention.heads, attention.kvHeads].map((n) => n * attention.headDim);
    const bias = attention.qkvBias;
    this.q_proj = new Linear(width, all, { bias });
    this.k_proj = new Linear(width, shared, { bias });
    this.v_proj = new Linear(width, shared, { bias });
    this.o_proj = new Linear(all, width, { bias: attention.outputBias });
    this.window = attention.windows[layer] ?? null;
    this.scale = attention.scale / (attention.scaleByDepth ? layer + 1 : 1);
    if (attention.qkNorm !== 'none') {
      const perHead = attention.qkNorm === 'head';
      this.q_norm = makeNorm(config, perHead ? attention.headDim : all);
      this.k_norm = makeNorm(config, perHead ? attention.headDim : shared);
    }
  }

  /** [B, T, width] → [B, T, width] */
  forward(x: Tensor, context: AttentionContext, cache: LayerCache | null): Tensor {
    const { heads, kvHeads, softCap } = this.config.attention;
    const { scale } = this;
    let q = this.heads(this.q_proj.call(x), heads, this.q_norm);
    let k = this.heads(this.k_proj.call(x), kvHeads, this.k_norm);
    let v = this.heads(this.v_proj.call(x), kvHeads, null);
    if (context.rotation !== null) {
      q = rotate(q, context.rotation);
      k = rotate(k, context.rotation);
    }
    if (cache !== null) ({ k, v } = cache.update(k, v));
    const mask = context.maskFor(this.window);
    const y =
      softCap === null
        ? F.scaledDotProductAttention(q, k, v, {
            attnMask: mask,
            scale,
            enableGqa: kvHeads !== heads,
          })
        : capped(q, k, v, { mask, scale, softCap });
    const [B, T] = x.shape;
    return this.o_proj.call(y.transpose(1, 2).reshape([B, T, -1]));
  }

  /** [B, T, n · headDim] → [B, n, T, headDim] */
  private heads(x: Tensor, count: number, norm: Norm | null): Tensor {
    const { headDim, qkNorm } = this.config.attention;
    const [B, T] = x.shape;
    const whole = norm !== null && qkNorm === 'all' ? norm.call(x) : x;
    const split = whole.reshape([B, T, count, headDim]);
    const each = norm !== null && qkNorm === 'head' ? norm.call(split) : split;
    return each.transpose(1, 2);
  }
}

/** Score of a key that does not count: finite, so that a row of only these has a softmax. */
const FAR = -1e38;

/** Attention whose scores are `cap · tanh(score / cap)`. */
function capped(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { mask, scale, softCap }: { mask: Tensor; scale: number; softCap: number },
): Tensor {
  const [B, heads, T, headDim] = q.shape;
  const kvHeads = k.size(1);
  const grouped = q.reshape([B, kvHeads, heads / kvHeads, T, headDim]);
  const scores = grouped.matmul(k.unsqueeze(2).transpose(-2, -1)).mul(scale);
  const limited = where(mask.unsqueeze(1), scores.div(softCap).tanh().mul(softCap), FAR);
  const weights = F.softmax(limited, -1, { dtype: 'float32' }).to(q.dtype);
  return weights.matmul(v.unsqueeze(2)).reshape([B, heads, T, headDim]);
}
