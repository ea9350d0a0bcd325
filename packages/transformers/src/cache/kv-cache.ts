/**
 * @file Keys and values of the tokens seen so far, for each layer.
 *
 * A *static* cache has its whole length from the start and is written in place, so that every decoding step is the
 * same computation with another position: it compiles once. A *growing* one takes the memory that it needs.
 */
import { type Tensor, arange, cat, noGrad, zeros } from '@tessera/tensor';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { checkSizes } from '../check-sizes.js';
import type { DecoderConfig } from '../config/decoder-config.js';

/** The cache of one layer during one call. */
export interface LayerCache {
  /** Takes in keys and values, [B, kvHeads, T, headDim]; gives all that the queries may look at. */
  update(k: Tensor, v: Tensor): { readonly k: Tensor; readonly v: Tensor };
}

/** See the file header. */
export interface KeyValueCache {
  /** The layers' caches for tokens at these places of the cache, [T] whole numbers. */
  layers(places: Tensor): readonly LayerCache[];
  /** How many places queries see in a call of `count` tokens. */
  lengthWith(count: number): number;
  /** How long the text is, or may become where keys are not turned again: what positions are stretched for. */
  textWith(count: number): number;
  /** Places of a call of `count` tokens, [T], on the device of the tokens (default `cpu`, or where the cache is). */
  places(count: number, device?: Tensor['device']): Tensor;
  /** Counts `count` more tokens as seen. */
  advance(count: number): void;
  /** Tokens seen. */
  readonly length: number;
}

/** Sizes and types of a cache. */
export interface CacheOptions {
  readonly batch: number;
  /** Places behind the longest text, for what fills up the last chunk of a prompt (default none). */
  readonly filling?: number;
  readonly dtype?: Tensor['dtype'];
  readonly device?: Tensor['device'];
}

const OPTIONS: OptionNames<CacheOptions> = {
  batch: true,
  filling: true,
  dtype: true,
  device: true,
};

/** See the file header. @throws invalid-argument when more tokens come than there is room for */
export class StaticCache implements KeyValueCache {
  /** [B, kvHeads, maxLength + filling, headDim] for each layer. */
  readonly keys: readonly Tensor[];
  readonly values: readonly Tensor[];
  private seen = 0;
  /** Longest text whose keys are turned as in training, where longer ones want them otherwise from the first token on. */
  private readonly trained: number;
  private text: number;

  constructor(
    { layers, attention, positions }: DecoderConfig,
    readonly maxLength: number,
    options: CacheOptions,
  ) {
    const scaling = positions.kind === 'rotary' ? positions.scaling : null;
    this.trained = scaling?.kind === 'longrope' ? scaling.originalLength : Infinity;
    this.text = maxLength;
    checkOptionNames('StaticCache', options, OPTIONS);
    const { batch, filling = 0, ...place } = options;
    checkSizes('StaticCache', { maxLength, batch });
    const sizes = [batch, attention.kvHeads, maxLength + filling, attention.headDim];
    const make = (): Tensor[] => Array.from({ length: layers }, () => zeros(sizes, place));
    [this.keys, this.values] = [make(), make()];
  }

  get length(): number {
    return this.seen;
  }

  /** Forgets what lies behind `length` tokens; the memory stays. */
  truncate(length: number): void {
    this.seen = Math.min(this.seen, length);
  }

  lengthWith(): number {
    return this.keys[0]!.size(2);
  }

  textWith(): number {
    return this.text;
  }

  /** Whether the keys are turned as a text of this length wants it: see `turnFor`. */
  fits(length: number): boolean {
    return length > this.trained === this.text > this.trained;
  }

  /**
   * Turns keys that come from here on for a text of this length, or longer. At first they are turned for one of
   * `maxLength`; where that is beyond the length of training, shorter texts may want them otherwise (`longrope`).
   */
  turnFor(length: number): void {
    this.text = length > this.trained ? this.maxLength : Math.min(this.maxLength, this.trained);
  }

  places(count: number): Tensor {
    this.check(count);
    return arange(this.seen, this.seen + count, { device: this.keys[0]!.device });
  }

  advance(count: number): void {
    this.check(count);
    this.seen += count;
  }

  layers(places: Tensor): readonly LayerCache[] {
    return this.keys.map((keys, i) => ({
      update: (k, v) => {
        if (i === 0) this.checkShape(k);
        noGrad(() => {
          keys.indexCopy_(2, places, k);
          this.values[i]!.indexCopy_(2, places, v);
        });
        return { k: keys, v: this.values[i]! };
      },
    }));
  }

  private checkShape({ sizes }: Tensor): void {
    const [batch, heads, , headDim] = this.keys[0]!.sizes;
    if (sizes[0] === batch && sizes[1] === heads && sizes[3] === headDim) return;
    const what =
      sizes[0] === batch
        ? `${heads} heads of ${headDim}; the model has ${sizes[1]} of ${sizes[3]}`
        : `${batch} texts at once; the call has ${sizes[0]}`;
    throw new TesseraError('invalid-argument', `The cache is for ${what}.`, {
      hints: [`Make one for it: new StaticCache(model.config, length, { batch: ${sizes[0]} }).`],
    });
  }

  private check(count: number): void {
    if (this.seen + count <= this.maxLength) return;
    throw new TesseraError(
      'invalid-argument',
      `The cache has room for ${this.maxLength} tokens; ${this.seen} are in it and ${count} more come.`,
      { hints: ['Make a longer StaticCache, or a GrowingCache.'] },
    );
  }
}

/** See the file header. */
export class GrowingCache implements KeyValueCache {
  private readonly keys: (Tensor | null)[];
  private readonly values: (Tensor | null)[];
  private seen = 0;

  constructor({ layers }: DecoderConfig) {
    this.keys = Array.from({ length: layers }, () => null);
    this.values = Array.from({ length: layers }, () => null);
  }

  get length(): number {
    return this.seen;
  }

  lengthWith(count: number): number {
    return this.seen + count;
  }

  textWith(count: number): number {
    return this.seen + count;
  }

  places(count: number, device: Tensor['device'] = 'cpu'): Tensor {
    return arange(this.seen, this.seen + count, { device });
  }

  advance(count: number): void {
    this.seen += count;
  }

  layers(): readonly LayerCache[] {
    return this.keys.map((_, i) => ({
      update: (k, v) => {
        const [before, also] = [this.keys[i], this.values[i]];
        const all = before == null ? k : cat([before, k], 2);
        const allValues = also == null ? v : cat([also, v], 2);
        [this.keys[i], this.values[i]] = [all.detach(), allValues.detach()];
        return { k: all, v: allValues };
      },
    }));
  }
}
