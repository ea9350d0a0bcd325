/**
 * @file `CausalLM`: a decoder that says which token comes next.
 */
import { useBlockedAttention, useBoundedKeys, useNarrowWeights } from '@tessera/compile';
import { Linear, Module } from '@tessera/nn';
import { type DType, type DeviceType, type Tensor, arange } from '@tessera/tensor';
import type { KeyValueCache } from '../cache/kv-cache.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import { QuantizedEmbedding } from '../quantize/quantized-embedding.js';
import { Decoder } from './decoder.js';
import { checkCall, realKeys } from './check-call.js';
import { attentionMask } from './mask.js';

/** What a call may know beside the tokens. */
export interface ForwardOptions {
  /**
   * 1 or true for tokens and 0 for padding, [B, S], over what the cache holds and the call, or all places of a static
   * cache; default: no padding.
   */
  readonly attentionMask?: Tensor | null;
  /** Positions of the tokens, [B or 1, T]; default: counted from the first token that is no padding. */
  readonly positions?: Tensor | null;
  /** What was seen before; the call adds its tokens. */
  readonly cache?: KeyValueCache | null;
  /** Which tokens' logits are wanted, [n] places among the T of the call; default all. */
  readonly only?: Tensor | null;
}

/** See the file header. Parameters have the names of Llama's checkpoints, whatever the family. */
export class CausalLM extends Module {
  model: Decoder;
  lm_head: Linear | null;

  constructor(readonly config: DecoderConfig) {
    super();
    useNarrowWeights();
    useBoundedKeys();
    useBlockedAttention();
    this.model = new Decoder(config);
    this.lm_head = config.tied ? null : new Linear(config.width, config.vocabSize, { bias: false });
  }

  /** What tokens become on their way through the model. */
  get dtype(): DType {
    const table = this.model.embed_tokens;
    return table instanceof QuantizedEmbedding ? table.dtype : table.weight.dtype;
  }

  /** Where the weights are. */
  get device(): DeviceType {
    return this.model.embed_tokens.weight.device;
  }

  /**
   * Logits of the next token after each, [B, T, vocabSize].
   *
   * @param ids [B, T] token numbers
   * @throws invalid-argument for shapes that do not fit each other, unknown options, or a cache that has no room
   */
  forward(ids: Tensor, options: ForwardOptions = {}): Tensor {
    checkCall(ids, options);
    const { cache = null, attentionMask = null } = options;
    const [batch, count] = ids.sizes;
    const { device } = ids;
    const real =
      attentionMask === null
        ? null
        : realKeys(
            attentionMask,
            batch,
            (cache?.length ?? 0) + count,
            cache?.lengthWith(count) ?? count,
          );
    const places = cache?.places(count, device) ?? arange(count, { device });
    const logits = this.at(ids, places, { ...options, attentionMask: real });
    cache?.advance(count);
    return logits;
  }

  /**
   * The same for tokens at given places of the cache, [T]; does not count them as seen. The mask is over all places of the
   * cache.
   */
  at(
    ids: Tensor,
    places: Tensor,
    {
      attentionMask: mask = null,
      positions = null,
      cache = null,
      only = null,
    }: ForwardOptions = {},
  ): Tensor {
    const length = cache?.lengthWith(ids.size(1)) ?? ids.size(1);
    const keys = arange(length, { device: ids.device });
    const real = mask === null ? null : mask.to('bool');
    const known = new Map<number | null, Tensor>();
    const maskFor = (window: number | null): Tensor => {
      let found = known.get(window);
      if (found === undefined)
        known.set(window, (found = attentionMask({ queries: places, keys, real }, window)));
      return found;
    };
    const hidden = this.model.call(
      ids,
      positions ?? (real === null ? places.unsqueeze(0) : positionsOf(real, places)),
      cache?.textWith(ids.size(1)) ?? length,
      maskFor,
      cache?.layers(places) ?? null,
    );
    return this.logits(only === null ? hidden : hidden.indexSelect(1, only));
  }

  private logits(hidden: Tensor): Tensor {
    const { logitSoftCap } = this.config;
    const logits = this.lm_head?.call(hidden) ?? this.likeness(hidden);
    if (logitSoftCap === null) return logits;
    return logits.div(logitSoftCap).tanh().mul(logitSoftCap);
  }

  /** Products with the table's rows, of models with tied weights. */
  private likeness(hidden: Tensor): Tensor {
    const table = this.model.embed_tokens;
    return table instanceof QuantizedEmbedding
      ? table.product(hidden)
      : hidden.matmul(table.weight.t());
  }
}

/** Positions of places, counted from the first that is no padding, [B, T]. */
function positionsOf(real: Tensor, places: Tensor): Tensor {
  const counts = real.to('int64').cumsum(1).sub(1);
  return counts.clamp(0).indexSelect(1, places);
}
