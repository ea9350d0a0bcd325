/**
 * @file The decoder: embeddings, layers of attention and feed-forward networks, a norm.
 */
import { Embedding, Module, ModuleList } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import type { LayerCache } from '../cache/kv-cache.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { QuantizedEmbedding } from '../quantize/quantized-embedding.js';
import { Attention, type AttentionContext } from './attention.js';
import { FeedForward, MixtureOfExperts } from './feed-forward.js';
import { type Norm, makeNorm } from './norm.js';
import { RotaryTable } from './rotary.js';

/** One layer. Names of norms are those of checkpoints; which of them there are is `config.norm.place`. */
class DecoderLayer extends Module {
  self_attn: Attention;
  mlp: FeedForward | MixtureOfExperts;
  input_layernorm: Norm | null = null;
  post_attention_layernorm: Norm | null = null;
  pre_feedforward_layernorm: Norm | null = null;
  post_feedforward_layernorm: Norm | null = null;

  constructor(
    private readonly config: DecoderConfig,
    layer: number,
  ) {
    super();
    const norm = (): Norm => makeNorm(config, config.width);
    const { place } = config.norm;
    this.self_attn = new Attention(config, layer);
    this.mlp =
      config.feedForward.experts === null ? new FeedForward(config) : new MixtureOfExperts(config);
    if (place !== 'after') this.input_layernorm = norm();
    this.post_attention_layernorm = norm();
    if (place === 'both') this.pre_feedforward_layernorm = norm();
    if (place !== 'before') this.post_feedforward_layernorm = norm();
  }

  /** [B, T, width] */
  forward(x: Tensor, context: AttentionContext, cache: LayerCache | null): Tensor {
    const { norm, parallel } = this.config;
    const first = this.input_layernorm?.call(x) ?? x;
    let attended = this.self_attn.call(first, context, cache);
    if (norm.place !== 'before') attended = this.post_attention_layernorm!.call(attended);
    const middle = x.add(attended);
    // With norms before, the second one is that behind the attention in name only.
    const before =
      norm.place === 'before' ? this.post_attention_layernorm : this.pre_feedforward_layernorm;
    const source = parallel ? x : middle;
    let fed = this.mlp.call(before?.call(source) ?? source);
    fed = this.post_feedforward_layernorm?.call(fed) ?? fed;
    return middle.add(fed);
  }
}

/** See the file header. */
export class Decoder extends Module {
  embed_tokens: Embedding | QuantizedEmbedding;
  embed_positions: Embedding | QuantizedEmbedding | null;
  layers: ModuleList<DecoderLayer>;
  norm: Norm;
  private readonly rotary: RotaryTable | null;

  constructor(private readonly config: DecoderConfig) {
    super();
    const { positions, vocabSize, width, maxPositions } = config;
    this.embed_tokens = new Embedding(vocabSize, width);
    this.embed_positions = positions.kind === 'learned' ? new Embedding(maxPositions, width) : null;
    this.rotary = positions.kind === 'rotary' ? new RotaryTable(positions) : null;
    this.layers = new ModuleList(
      Array.from({ length: config.layers }, (_, i) => new DecoderLayer(config, i)),
    );
    this.norm = makeNorm(config, width);
  }

  /**
   * Hidden states, [B, T, width].
   *
   * @param ids [B, T] token numbers
   * @param positions [B or 1, T] whole numbers
   * @param length of all that attention may see
   */
  forward(
    ids: Tensor,
    positions: Tensor,
    length: number,
    maskFor: AttentionContext['maskFor'],
    caches: readonly LayerCache[] | null,
  ): Tensor {
    const { embeddingScale } = this.config;
    let x = this.embed_tokens.call(ids);
    if (embeddingScale !== 1) x = x.mul(embeddingScale);
    if (this.embed_positions !== null) x = x.add(this.embed_positions.call(positions));
    const context = { rotation: this.rotary?.rotation(positions, length) ?? null, maskFor };
    let i = 0;
    for (const layer of this.layers) x = layer.call(x, context, caches?.[i++] ?? null);
    return this.norm.call(x);
  }
}
