/**
 * @file `BeamSearch`: several texts are gone on with at once, those that are likeliest as a whole.
 *
 * Each beam is a row of a static cache; a step puts the rows in the order of the beams that go on, computes one token
 * for each and picks the candidates on the device: twice as many of them come back as there are beams.
 */
import { functional as F } from '@tessera/nn';
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, cat, noGrad, tensor, where, zeros } from '@tessera/tensor';
import type { CausalLM } from '../model/causal-lm.js';
import { checkGeneration } from '../config/generation-config.js';
import { BeamHypotheses, type EarlyStopping } from './beam-hypotheses.js';
import { CachedModel, oneGraph } from './cached-model.js';
import { checkSizes } from '../check-sizes.js';
import { checkEndTokens, defaultCount, defined } from './options.js';
import { promptOf } from './prompts.js';
import { type TokenRuleOptions, TokenRules, markRow } from './token-rules.js';

/** Sizes of a search. */
export interface BeamSearchOptions {
  /** Texts that are gone on with at once (default: what `generation_config.json` says, or 4). */
  readonly numBeams?: number;
  /** Tokens of prompt and answer together; default: as many as the model has positions, at most 2,048. */
  readonly maxLength?: number;
  /** Most tokens of a prompt that are taken in at once (default 64). */
  readonly chunk?: number;
  /** Whether the two functions are compiled (default true). */
  readonly compile?: boolean;
}

/** What can be asked of one search. Where a model's `generation_config.json` says something of it, that is the default. */
export interface BeamGenerateOptions extends TokenRuleOptions {
  /** Most tokens of the answer (default 128, or what there is room for). */
  readonly maxNewTokens?: number;
  /** Logarithms of the probabilities of tokens that were there before are multiplied by it (default 1). */
  readonly repetitionPenalty?: number;
  /** Sums of logarithms are divided by the length to this power (default 1): above 0 favours long texts. */
  readonly lengthPenalty?: number;
  /**
   * With as many ended texts as beams: `true` ends; `false` (default) ends when the best open text is no better at its
   * present length; `'never'` goes on until none can become better.
   */
  readonly earlyStopping?: EarlyStopping;
  /** Tokens that end a text; default: those of the model's configuration. */
  readonly endTokens?: readonly number[];
  /** Ends the search: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const SIZES: OptionNames<BeamSearchOptions> = {
  numBeams: true,
  maxLength: true,
  chunk: true,
  compile: true,
};

const NAMES: OptionNames<BeamGenerateOptions> = {
  maxNewTokens: true,
  repetitionPenalty: true,
  minNewTokens: true,
  suppressTokens: true,
  beginSuppressTokens: true,
  badWords: true,
  noRepeatNgramSize: true,
  lengthPenalty: true,
  earlyStopping: true,
  endTokens: true,
  signal: true,
};

/** An open text. */
interface Beam {
  readonly tokens: readonly number[];
  readonly sum: number;
  /** Its row in the cache. */
  readonly row: number;
}

function refuse(what: string): never {
  throw new TesseraError('invalid-argument', `beam search: ${what}.`);
}

/** Log-probabilities of logits. */
function logarithms(logits: Tensor): Tensor {
  return F.logSoftmax(logits.to('float32'), -1);
}

/** Scores of what follows texts as rules and the penalty have them, [texts, vocabSize]. */
function changed(
  all: Tensor,
  texts: readonly (readonly number[])[],
  { rules, penalty, made }: { rules: TokenRules | null; penalty: number; made: number },
): Tensor {
  let scores = all.narrow(0, 0, texts.length);
  const flags = (): Tensor => zeros(scores.sizes, { dtype: 'bool', device: scores.device });
  if (penalty !== 1) {
    const seen = flags();
    for (const [i, text] of texts.entries()) markRow(seen, i, text);
    scores = where(seen, scores.mul(penalty), scores);
  }
  if (rules === null) return scores;
  const banned = flags();
  rules.mark(banned, texts, made);
  return where(banned, -Infinity, scores);
}

/** See the file header. */
export class BeamSearch {
  readonly numBeams: number;
  readonly maxLength: number;
  private readonly cached: CachedModel;
  private readonly next: (ids: Tensor, rows: Tensor) => Tensor;
  private busy = false;

  /** @throws invalid-argument */
  constructor(
    readonly model: CausalLM,
    options: BeamSearchOptions = {},
  ) {
    checkOptionNames('BeamSearch', options, SIZES);
    const { config } = model;
    const { beams } = config.generation ?? {};
    const { numBeams = beams?.numBeams ?? 4, maxLength, chunk = 64 } = options;
    const { compile: compiles = true } = options;
    this.numBeams = numBeams;
    this.maxLength = maxLength ?? Math.min(config.maxPositions, 2048);
    checkSizes('beam search', { numBeams, maxLength: this.maxLength, chunk });
    if (this.maxLength > config.maxPositions)
      refuse(`the model has ${config.maxPositions} positions; maxLength is ${this.maxLength}`);
    this.cached = new CachedModel(model, {
      batch: numBeams,
      places: this.maxLength,
      chunk,
      compiles,
    });
    const { cache, place } = this.cached;
    this.next = oneGraph((ids: Tensor, rows: Tensor) => {
      for (const part of [...cache.keys, ...cache.values]) part.copy_(part.indexSelect(0, rows));
      const logits = model.at(ids, place, { cache });
      place.add_(1);
      return logarithms(logits.squeeze(1));
    }, compiles);
  }

  /**
   * The likeliest text that was found, end token included.
   *
   * @throws invalid-argument; the reason of the signal
   */
  async generate(prompt: readonly number[], options: BeamGenerateOptions = {}): Promise<number[]> {
    checkOptionNames('generate', options, NAMES);
    const { config } = this.model;
    const row = promptOf(prompt, config.vocabSize);
    const { options: defaults, beams: asked, unknown = [] } = config.generation ?? {};
    checkGeneration('BeamSearch', unknown);
    const { lengthPenalty = asked?.lengthPenalty ?? 1, signal } = options;
    const { earlyStopping = asked?.earlyStopping ?? false } = options;
    const penalty = options.repetitionPenalty ?? defaults?.repetitionPenalty ?? 1;
    if (!(penalty > 0)) refuse(`repetitionPenalty is ${penalty}, not above 0`);
    if (!Number.isFinite(lengthPenalty)) refuse(`lengthPenalty is ${lengthPenalty}, not a number`);
    if (typeof earlyStopping !== 'boolean' && earlyStopping !== 'never')
      refuse(`earlyStopping is '${String(earlyStopping)}', not true, false or 'never'`);
    checkEndTokens(options.endTokens);
    const room = this.maxLength - row.length;
    const { maxNewTokens = defaultCount(config, row.length, room) } = options;
    if (!(Number.isInteger(maxNewTokens) && maxNewTokens >= 1 && maxNewTokens <= room))
      refuse(`maxNewTokens is ${maxNewTokens}; there is room for ${room} tokens`);
    if (this.busy) refuse('this search is in the middle of a text');
    this.busy = true;
    try {
      const ended = new BeamHypotheses(this.numBeams, {
        lengthPenalty,
        earlyStopping,
        maxNewTokens,
      });
      const ends = new Set(options.endTokens ?? config.tokens.end);
      const rules = TokenRules.of(
        { ...defaults, ...defined(options) },
        [...ends],
        config.vocabSize,
      );
      // All rows of the cache are the same at first: one of them goes on.
      let beams: Beam[] = [{ tokens: [], sum: 0, row: 0 }];
      let scores = noGrad(() => logarithms(this.cached.prefill(row)));
      for (let length = 1; ; length++) {
        const texts = beams.map(({ tokens }) => [...row, ...tokens]);
        const ruled = noGrad(() => changed(scores, texts, { rules, penalty, made: length - 1 }));
        const candidates = await this.candidates(ruled, beams, ends.size);
        signal?.throwIfAborted();
        const isLast = length === maxNewTokens;
        beams = [];
        for (const [rank, beam] of candidates.entries()) {
          if (!isLast && !ends.has(beam.tokens.at(-1)!)) beams.push(beam);
          else if (rank < this.numBeams) ended.add(beam.tokens, beam.sum);
          if (beams.length === this.numBeams) break;
        }
        if (beams.length === 0 || ended.isDone(beams[0]!.sum, length)) break;
        const goOn = (): Tensor =>
          this.cached.cache.fits(row.length + length) ? this.step(beams) : this.again(row, beams);
        scores = noGrad(goOn);
      }
      return [...ended.best.tokens];
    } finally {
      this.busy = false;
    }
  }

  /** Log-probabilities after each beam's last token, [numBeams, vocabSize]; rows without a beam repeat the first. */
  private step(beams: readonly Beam[]): Tensor {
    const { device } = this.cached;
    const all = this.filled(beams);
    const whole = { dtype: 'int64', device } as const;
    return this.next(
      tensor(
        all.map(({ tokens }) => [tokens.at(-1)!]),
        whole,
      ),
      tensor(
        all.map(({ row }) => row),
        whole,
      ),
    );
  }

  /** The same for texts that are taken in anew. */
  private again(prompt: readonly number[], beams: readonly Beam[]): Tensor {
    return logarithms(
      this.cached.prefillRows(this.filled(beams).map(({ tokens }) => [...prompt, ...tokens])),
    );
  }

  /** A beam for each row of the cache. */
  private filled(beams: readonly Beam[]): Beam[] {
    return Array.from({ length: this.numBeams }, (_, i) => beams[i] ?? beams[0]!);
  }

  /** The likeliest continuations of all beams, best first: enough that as many go on as there are beams. */
  private async candidates(scores: Tensor, beams: readonly Beam[], ends: number): Promise<Beam[]> {
    const [count, vocabSize] = [beams.length, scores.size(1)];
    const wanted = Math.min(Math.max(2, 1 + ends) * this.numBeams, count * vocabSize);
    const both = noGrad(() => {
      const sums = tensor(
        beams.map(({ sum }) => [sum]),
        { device: scores.device },
      );
      const [values, indices] = scores.add(sums).reshape([-1]).topk(wanted);
      // In one tensor, which is read back once; whole numbers up to 2^24 are exact in it.
      const rows = indices.div(vocabSize, { roundingMode: 'floor' });
      const tokens = indices.sub(rows.mul(vocabSize));
      return cat([values, rows.to('float32'), tokens.to('float32')]).reshape([3, wanted]);
    });
    const [sums, rows, tokens] = (await both.toArray()) as [number[], number[], number[]];
    return sums.map((sum, i) => ({
      tokens: [...beams[rows[i]!]!.tokens, tokens[i]!],
      sum,
      row: rows[i]!,
    }));
  }
}
