/**
 * @file `CachedModel`: a model with a static cache that takes in prompts.
 *
 * Prompts come in chunks (prompt-chunks.ts), the last one filled up: what the filling leaves in the cache lies behind the
 * prompt, where no token looks before it is overwritten. So prompts of all lengths are few computations.
 */
import { compile } from '@tessera/compile';
import { type DeviceType, type Tensor, arange, tensor, zeros } from '@tessera/tensor';
import { StaticCache } from '../cache/kv-cache.js';
import type { CausalLM } from '../model/causal-lm.js';
import { PromptChunks, filledUp } from './prompt-chunks.js';

/** Sizes of a model with a cache. */
export interface CachedModelOptions {
  /** Texts at once. */
  readonly batch: number;
  /** Places of the cache that are used. */
  readonly places: number;
  /** Tokens of the longest text, where behind it are places for what is only proposed (default: all places). */
  readonly text?: number;
  /** Most tokens of a prompt that are taken in at once. */
  readonly chunk: number;
  /** Whether functions are compiled. */
  readonly compiles: boolean;
}

/** A function as one graph, or as it is. */
export function oneGraph<F extends (...args: Tensor[]) => Tensor | Tensor[]>(
  fn: F,
  compiles: boolean,
): F {
  return compiles ? compile(fn, { fullgraph: true, dynamic: false }) : fn;
}

/** See the file header. */
export class CachedModel {
  readonly cache: StaticCache;
  /** Place of the next token in the cache, [1]. */
  readonly place: Tensor;
  readonly device: DeviceType;
  private readonly chunks: PromptChunks<(ids: Tensor, last: Tensor) => Tensor>;

  constructor(
    readonly model: CausalLM,
    private readonly options: CachedModelOptions,
  ) {
    const { batch, places, text = places, chunk, compiles } = options;
    const { dtype, device } = model;
    // Room for the filling of the last chunk.
    const room = Math.ceil(places / chunk) * chunk;
    const filling = room - text;
    const cache = new StaticCache(model.config, text, { batch, filling, dtype, device });
    const place = zeros([1], { dtype: 'int64', device });
    this.cache = cache;
    this.place = place;
    this.device = device;
    this.chunks = new PromptChunks(chunk, room, (size) =>
      oneGraph((ids: Tensor, last: Tensor) => {
        const logits = model.at(ids, place.add(arange(size, { device })), { cache, only: last });
        place.add_(size);
        return logits.squeeze(1);
      }, compiles),
    );
  }

  /** Takes in a prompt in place of what was there, in each row; the logits of its next token, [B, vocabSize]. */
  prefill(prompt: readonly number[]): Tensor {
    return this.prefillRows(Array.from({ length: this.options.batch }, () => prompt));
  }

  /** The same with texts of one length, one for each row. */
  prefillRows(texts: readonly (readonly number[])[]): Tensor {
    const { length } = texts[0]!;
    this.cache.turnFor(length);
    const whole = { dtype: 'int64', device: this.device } as const;
    this.place.fill_(0);
    let logits: Tensor | null = null;
    for (const { takeIn, ...call } of this.chunks.calls(0, length)) {
      const rows = texts.map((text) => filledUp(text, call, 0));
      const last = Math.min(length - call.from, call.size) - 1;
      logits = takeIn(tensor(rows, whole), tensor([last], whole));
    }
    this.place.fill_(length);
    return logits!;
  }
}
