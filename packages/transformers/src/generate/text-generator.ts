/**
 * @file `TextGenerator`: a model with a static cache and compiled functions that take in a chunk of a prompt and that make
 * a token.
 *
 * Prompts come in chunks (prompt-chunks.ts), the last one filled up: what the filling leaves in the cache lies behind the
 * prompt, where no token looks before it is overwritten. So prompts of all lengths are few computations, and all tokens
 * are one. Tokens that a prompt shares with what is in the cache are not computed again. A text that grows beyond the
 * length of training is taken in once more, where its keys have to be turned otherwise then (`longrope`).
 */
import { compile } from '@tessera/compile';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, arange, manualSeed, noGrad, tensor, where, zeros } from '@tessera/tensor';
import { StaticCache } from '../cache/kv-cache.js';
import { checkSizes } from '../check-sizes.js';
import type { CausalLM } from '../model/causal-lm.js';
import {
  type GenerateOptions,
  type SamplingOptions,
  checkGenerateOptions,
  withDefaults,
} from './options.js';
import { pickToken } from './pick-token.js';
import { PromptChunks, filledUp } from './prompt-chunks.js';
import { type Prompts, padLeft, promptsOf } from './prompts.js';
import { Texts } from './texts.js';
import { TokenRules } from './token-rules.js';
import { type WeightMark, sameWeights, weightMarks } from './weight-marks.js';

/** Sizes of a generator. */
export interface TextGeneratorOptions {
  /** Texts at once (default 1). */
  readonly batch?: number;
  /** Tokens of prompt and answer together; default: as many as the model has positions, at most 2,048. */
  readonly maxLength?: number;
  /** Most tokens of a prompt that are taken in at once (default 64); of short prompts and rests it is a quarter. */
  readonly chunk?: number;
  /** Whether functions are compiled (default true). */
  readonly compile?: boolean;
}

/** What the compiled functions read and write beside the cache. */
interface State {
  /** Place of the next token in the cache, [1]. */
  readonly place: Tensor;
  /** Whether each place of the cache is text and not padding, [B, S] of bool. */
  readonly real: Tensor;
  /** Tokens that were there before, [B, vocabSize] of bool. */
  readonly seen: Tensor;
  /** Tokens that may not come next, [B, vocabSize] of bool. */
  readonly banned: Tensor;
}

type Chunk = (ids: Tensor, last: Tensor) => Tensor;
type Step = (ids: Tensor) => Tensor;

const NAMES: OptionNames<TextGeneratorOptions> = {
  batch: true,
  maxLength: true,
  chunk: true,
  compile: true,
};

/** See the file header. */
export class TextGenerator {
  readonly batch: number;
  readonly maxLength: number;
  private readonly cache: StaticCache;
  private readonly state: State;
  private readonly chunks: PromptChunks<Chunk>;
  /** Functions by what they pick with. */
  private readonly pickers = new Map<string, { first: Step; next: Step }>();
  private readonly compiles: boolean;
  /** What lies in the cache, for a batch of one: prompts that begin with it skip it. */
  private inCache: number[] = [];
  /** The weights that computed it. */
  private weights: WeightMark[] | null = null;
  private busy = false;

  /** @throws invalid-argument */
  constructor(
    readonly model: CausalLM,
    options: TextGeneratorOptions = {},
  ) {
    checkOptionNames('TextGenerator', options, NAMES);
    const { batch = 1, maxLength, chunk = 64, compile: compiles = true } = options;
    const { config } = model;
    this.batch = batch;
    this.compiles = compiles;
    const wanted = maxLength ?? Math.min(config.maxPositions, 2048);
    checkSizes('TextGenerator', { batch, maxLength: wanted, chunk });
    if (wanted > config.maxPositions)
      throw new TesseraError(
        'invalid-argument',
        `The model has ${config.maxPositions} positions; maxLength is ${wanted}.`,
      );
    this.maxLength = wanted;
    const { dtype, device } = model;
    // Room for the filling of the last chunk.
    const room = Math.ceil(wanted / chunk) * chunk;
    this.cache = new StaticCache(config, wanted, { batch, filling: room - wanted, dtype, device });
    this.state = {
      place: zeros([1], { dtype: 'int64', device }),
      real: zeros([batch, room], { dtype: 'bool', device }),
      seen: zeros([batch, config.vocabSize], { dtype: 'bool', device }),
      banned: zeros([batch, config.vocabSize], { dtype: 'bool', device }),
    };
    const { cache } = this;
    const { place, real } = this.state;
    this.chunks = new PromptChunks(chunk, room, (size) =>
      this.made((ids: Tensor, last: Tensor) => {
        const places = place.add(arange(size, { device }));
        const logits = model.at(ids, places, { attentionMask: real, cache, only: last });
        place.add_(size);
        return logits.squeeze(1);
      }),
    );
  }

  private made<F extends (...args: Tensor[]) => Tensor>(fn: F): F {
    return this.compiles ? compile(fn, { fullgraph: true, dynamic: false }) : fn;
  }

  /**
   * Tokens of each prompt's answer, end token included.
   *
   * @throws invalid-argument
   */
  async generate(prompts: Prompts, options: GenerateOptions = {}): Promise<number[][]> {
    let answers: number[][] = [];
    for await (const step of this.stream(prompts, options)) answers = step.answers;
    return answers;
  }

  /**
   * Gives the tokens as they are made: `tokens` has one for each prompt, null for a text that has ended; `answers` are
   * all so far.
   *
   * @throws invalid-argument
   */
  async *stream(
    prompts: Prompts,
    given: GenerateOptions = {},
  ): AsyncGenerator<{ tokens: (number | null)[]; answers: number[][] }> {
    checkGenerateOptions(given);
    const { config } = this.model;
    const rows = promptsOf(prompts, config.vocabSize);
    const longest = Math.max(...rows.map((row) => row.length));
    const options = withDefaults('TextGenerator', given, config, longest, this.maxLength - longest);
    checkGenerateOptions(options);
    const { seed, signal, maxNewTokens } = options;
    this.checkRoom(rows, longest, maxNewTokens);
    const rules = TokenRules.of(options, options.endTokens ?? config.tokens.end, config.vocabSize);
    if (this.busy)
      throw new TesseraError('invalid-argument', 'This generator is in the middle of a text.', {
        hints: ['Await it first, or make a TextGenerator for each text that is made at once.'],
      });
    this.busy = true;
    try {
      signal?.throwIfAborted();
      if (seed !== undefined) manualSeed(seed);
      const texts = new Texts(rows.length, this.model.config, options);
      const logits = this.prefill(rows);
      const { first, next } = this.picker(options, rules !== null);
      // As in `transformers`, padding counts where there is a token for it.
      const begun = config.tokens.pad === null ? rows : padLeft(rows, config.tokens.pad);
      const ban = (made: number): void =>
        rules?.mark(
          this.state.banned,
          begun.map((row, i) => [...row, ...texts.answers[i]!]),
          made,
        );
      let ids = noGrad(() => (ban(0), first(logits)));
      for (let made = 1; ; made++) {
        const values = (await ids.toArray()) as number[][];
        signal?.throwIfAborted();
        const tokens = texts.take(values.map((row) => row[0]!));
        // The last token that was made is not in the cache yet.
        if (this.batch === 1 && this.inCache.length < longest + made - 1)
          this.inCache.push(texts.answers[0]!.at(-2)!);
        yield { tokens, answers: texts.answers };
        signal?.throwIfAborted();
        if (texts.allEnded || made === maxNewTokens) return;
        ids = noGrad(() => {
          ban(made);
          return this.cache.fits(longest + made)
            ? next(ids)
            : first(this.prefill(rows.map((row, i) => [...row, ...texts.padded(i)])));
        });
      }
    } finally {
      this.busy = false;
    }
  }

  /** @throws invalid-argument */
  private checkRoom(rows: readonly unknown[], longest: number, count: number): void {
    if (rows.length !== this.batch)
      throw new TesseraError(
        'invalid-argument',
        `This generator is for ${this.batch} texts at once; there are ${rows.length} prompts.`,
        { hints: [`Make one of this size: new TextGenerator(model, { batch: ${rows.length} }).`] },
      );
    if (longest + count <= this.maxLength) return;
    throw new TesseraError(
      'invalid-argument',
      `A prompt of ${longest} tokens and ${count} new ones are more than ${this.maxLength}.`,
      { hints: ['Give a longer maxLength, fewer maxNewTokens, or a shorter prompt.'] },
    );
  }

  /** Takes in the prompts; the logits of their next tokens, [B, vocabSize]. */
  private prefill(rows: readonly (readonly number[])[]): Tensor {
    const { state } = this;
    const { device } = state.place;
    const { config } = this.model;
    const filler = config.tokens.pad ?? 0;
    const padded = padLeft(rows, filler);
    const length = padded[0]!.length;
    if (!this.cache.fits(length)) this.inCache = [];
    this.cache.turnFor(length);
    const known = this.shared(rows);
    // Until the prompt is in whole, nothing can be said of the cache.
    this.inCache = [];
    return noGrad(() => {
      const missing = rows.map((row) => length - row.length);
      const room = state.real.size(1);
      const starts = tensor(missing, { dtype: 'int64', device }).unsqueeze(1);
      state.real.copy_(arange(room, { device }).unsqueeze(0).ge(starts));
      state.place.fill_(known);
      state.seen.fill_(false);
      // As in `transformers`, a padding token counts where one stands.
      for (const [i, row] of (config.tokens.pad === null ? rows : padded).entries())
        state.seen.select(0, i).indexFill_(0, tensor([...row], { dtype: 'int64', device }), true);
      let logits: Tensor | null = null;
      for (const { takeIn, ...call } of this.chunks.calls(known, length)) {
        const filled = padded.map((row) => filledUp(row, call, filler));
        const last = Math.min(length - call.from, call.size) - 1;
        logits = takeIn(
          tensor(filled, { dtype: 'int64', device }),
          tensor([last], { dtype: 'int64', device }),
        );
      }
      state.place.fill_(length);
      if (this.batch === 1) this.inCache = [...rows[0]!];
      return logits!;
    });
  }

  /** How many tokens of the prompt are in the cache already, where a call may begin; one at least is computed, for its logits. */
  private shared(rows: readonly (readonly number[])[]): number {
    if (this.batch > 1) return 0;
    const [row] = rows;
    const weights = weightMarks(this.model);
    if (!sameWeights(weights, this.weights)) this.inCache = [];
    this.weights = weights;
    let count = 0;
    while (
      count < this.inCache.length &&
      count < row.length - 1 &&
      this.inCache[count] === row[count]
    )
      count++;
    return count - (count % this.chunks.step);
  }

  /** The functions that pick tokens in one way: from logits, and by the model from a token, both as [B, 1]. */
  private picker(options: SamplingOptions, bans: boolean): { first: Step; next: Step } {
    const { temperature, topK, topP, minP, typicalP, repetitionPenalty } = options;
    const key = JSON.stringify([temperature, topK, topP, minP, typicalP, repetitionPenalty, bans]);
    let found = this.pickers.get(key);
    if (found === undefined) {
      const { state, cache, model } = this;
      const pick = (logits: Tensor): Tensor => {
        const free = bans ? where(state.banned, -Infinity, logits) : logits;
        const token = pickToken(free, options, state.seen).unsqueeze(1);
        if ((repetitionPenalty ?? 1) !== 1) state.seen.scatter_(1, token, true);
        return token;
      };
      const next = (ids: Tensor): Tensor => {
        const logits = model.at(ids, state.place, { attentionMask: state.real, cache });
        state.place.add_(1);
        return pick(logits.squeeze(1));
      };
      this.pickers.set(key, (found = { first: this.made(pick), next: this.made(next) }));
    }
    return found;
  }
}
