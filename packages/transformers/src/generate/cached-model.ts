/**
 * @file `CachedModel`: a model with a static cache that takes in prompts.
 *
 * Prompts come in chunks of a fixed length, the last one filled up: what the filling leaves in the cache lies behind
 * the prompt, where no token looks before it is overwritten. So prompts of all lengths are one computation.
 */
import { compile } from '@tessera/compile';
import { type DeviceType, type Tensor, arange, tensor, zeros } from '@tessera/tensor';
import { StaticCache } from '../cache/kv-cache.js';
import type { CausalLM } from '../model/causal-lm.js';

/** Sizes of a model with a cache. */
export interface CachedModelOptions {
  /** Texts at once. */
  readonly batch: number;
  /** Places of the cache that are used. */
  readonly places: number;
  /** Tokens of a prompt that are taken in at once. */
  readonly chunk: number;
  /** Whether functions are compiled. */
  readonly compiles: boolean;
}

/** A function as one graph, or as it is. */
export function oneGraph<F extends (...args: Tensor[]) => Tensor | Tensor[]>(
  fn: F,
  compiles: boolean,
): F {
  return compiles ? (compile(fn, { fullgraph: true, dynamic: false }) as unknown as F) : fn;
}

/** See the file header. */
export class CachedModel {
  readonly cache: StaticCache;
  /** Place of the next token in the cache, [1]. */
  readonly place: Tensor;
  readonly device: DeviceType;
  private readonly takeIn: (ids: Tensor, last: Tensor) => Tensor;

  constructor(
    readonly model: CausalLM,
    private readonly options: CachedModelOptions,
  ) {
    const { batch, places, chunk, compiles } = options;
    const { dtype, device } = model;
    // Room for the filling of the last chunk.
    const room = Math.ceil(places / chunk) * chunk;
    const cache = new StaticCache(model.config, room, { batch, dtype, device });
    const place = zeros([1], { dtype: 'int64', device });
    this.cache = cache;
    this.place = place;
    this.device = device;
    this.takeIn = oneGraph((ids: Tensor, last: Tensor) => {
      const logits = model.at(ids, place.add(arange(chunk, { device })), { cache, only: last });
      place.add_(chunk);
      return logits.squeeze(1);
    }, compiles);
  }

  /** Takes in a prompt in place of what was there, in each row; the logits of its next token, [B, vocabSize]. */
  prefill(prompt: readonly number[]): Tensor {
    const { batch, chunk } = this.options;
    const whole = { dtype: 'int64', device: this.device } as const;
    this.place.fill_(0);
    let logits: Tensor | null = null;
    for (let from = 0; from < prompt.length; from += chunk) {
      const part = prompt.slice(from, from + chunk);
      const filled = [...part, ...Array<number>(chunk - part.length).fill(0)];
      const rows = Array.from({ length: batch }, () => filled);
      logits = this.takeIn(tensor(rows, whole), tensor([part.length - 1], whole));
    }
    this.place.fill_(prompt.length);
    return logits!;
  }
}
