/**
 * @file `SpeculativeGenerator`: a small model proposes tokens, and the model looks at all of them in one go.
 *
 * The texts are those of the model alone: the same tokens without a temperature, tokens of the same distribution with
 * one. What is gained is time, where the model takes little longer for a few tokens than for one (most of it is reading
 * weights) and the draft is often right.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, arange, cat, manualSeed, noGrad, rand, tensor } from '@tessera/tensor';
import type { CausalLM } from '../model/causal-lm.js';
import { checkSizes } from '../check-sizes.js';
import { acceptProposals } from './accept-proposals.js';
import { CachedModel, oneGraph } from './cached-model.js';
import {
  type GenerateOptions,
  type SamplingOptions,
  checkGenerateOptions,
  withDefaults,
} from './options.js';
import { tokenProbabilities } from './pick-token.js';
import { promptOf } from './prompts.js';
import { Texts } from './texts.js';
import { ruleNames } from './token-rules.js';

/** Sizes of a generator. */
export interface SpeculativeGeneratorOptions {
  /** Tokens that the draft proposes at once (default 4). */
  readonly lookahead?: number;
  /** Tokens of prompt and answer together; default: what both models have positions for, at most 2,048. */
  readonly maxLength?: number;
  /** Most tokens of a prompt that are taken in at once (default 64). */
  readonly chunk?: number;
  /** Whether the functions are compiled (default true). */
  readonly compile?: boolean;
}

/** The functions for one way of drawing. */
interface Drawing {
  /** From logits, [1, vocabSize], the first token as [1, 1]. */
  readonly first: (logits: Tensor) => Tensor;
  /** From a token, [1, 1], the draft's next one, [1, 1], and what it was drawn with, [1, vocabSize]. */
  readonly propose: (token: Tensor) => Tensor[];
  /** Looks at proposals after a token: how many are accepted and the token behind them, [2]. */
  readonly review: (tokens: Tensor, drawn: Tensor) => Tensor;
}

const NAMES: OptionNames<SpeculativeGeneratorOptions> = {
  lookahead: true,
  maxLength: true,
  chunk: true,
  compile: true,
};

function refuse(what: string): never {
  throw new TesseraError('invalid-argument', `speculative generation: ${what}.`);
}

/** See the file header. */
export class SpeculativeGenerator {
  readonly lookahead: number;
  readonly maxLength: number;
  /** Proposals so far, and how many of them were accepted. */
  readonly proposals: { made: number; accepted: number } = { made: 0, accepted: 0 };
  private readonly target: CachedModel;
  private readonly helper: CachedModel;
  private readonly compiles: boolean;
  private readonly drawings = new Map<string, Drawing>();
  private busy = false;

  /**
   * @param draft a smaller model with the same tokens, on the same device
   * @throws invalid-argument
   */
  constructor(
    readonly model: CausalLM,
    readonly draft: CausalLM,
    options: SpeculativeGeneratorOptions = {},
  ) {
    checkOptionNames('SpeculativeGenerator', options, NAMES);
    const { lookahead = 4, maxLength, chunk = 64, compile: compiles = true } = options;
    checkSizes('speculative generation', { lookahead, chunk });
    const [words, others] = [model.config.vocabSize, draft.config.vocabSize];
    if (words !== others)
      refuse(`the models have ${words} and ${others} tokens, which cannot be the same`);
    // Proposals that are not accepted stand behind the text.
    const most = Math.min(model.config.maxPositions, draft.config.maxPositions) - lookahead;
    this.lookahead = lookahead;
    this.maxLength = maxLength ?? Math.min(most, 2048);
    checkSizes('speculative generation', { maxLength: this.maxLength });
    if (this.maxLength > most)
      refuse(
        `there are positions for ${most} tokens and ${lookahead} proposals; maxLength is ${this.maxLength}`,
      );
    this.compiles = compiles;
    const text = this.maxLength;
    const sizes = { batch: 1, places: text + lookahead, text, chunk, compiles };
    this.target = new CachedModel(model, sizes);
    this.helper = new CachedModel(draft, sizes);
    if (this.target.device !== this.helper.device)
      refuse(`one model is on ${this.target.device}, the other on ${this.helper.device}`);
  }

  /**
   * Tokens of the answer, end token included.
   *
   * @throws invalid-argument; the reason of the signal
   */
  async generate(prompt: readonly number[], options: GenerateOptions = {}): Promise<number[]> {
    const answer: number[] = [];
    for await (const tokens of this.stream(prompt, options)) answer.push(...tokens);
    return answer;
  }

  /**
   * Gives tokens as they are made: one, then up to `lookahead + 1` at a time.
   *
   * @throws invalid-argument; the reason of the signal
   */
  async *stream(
    prompt: readonly number[],
    given: GenerateOptions = {},
  ): AsyncGenerator<readonly number[]> {
    checkGenerateOptions(given);
    const { config } = this.model;
    const row = promptOf(prompt, config.vocabSize);
    const room = this.maxLength - row.length;
    const options = withDefaults('SpeculativeGenerator', given, config, row.length, room);
    checkGenerateOptions(options);
    const penalized = (options.repetitionPenalty ?? 1) === 1 ? [] : ['repetitionPenalty'];
    const [depending] = [...penalized, ...ruleNames(options)];
    if (depending !== undefined)
      refuse(`${depending} depends on tokens that are only proposed; use a TextGenerator`);
    const wanted = options.maxNewTokens;
    if (wanted > room) refuse(`maxNewTokens is ${wanted}; there is room for ${room} tokens`);
    if (this.busy) refuse('this generator is in the middle of a text');
    this.busy = true;
    try {
      options.signal?.throwIfAborted();
      if (options.seed !== undefined) manualSeed(options.seed);
      const drawing = this.drawing(options);
      const text = new Texts(1, this.model.config, options);
      let made = await this.begin(row, drawing);
      for (;;) {
        options.signal?.throwIfAborted();
        const kept: number[] = [];
        for (const token of made) {
          kept.push(token);
          text.take([token]);
          if (text.allEnded || text.answers[0]!.length === wanted) break;
        }
        yield kept;
        options.signal?.throwIfAborted();
        if (text.allEnded || text.answers[0]!.length === wanted) return;
        const whole = [...row, ...text.answers[0]!];
        const { cache } = this.target;
        const isPlain = cache.fits(whole.length) && cache.fits(whole.length + this.lookahead);
        made = isPlain ? await this.round(made.at(-1)!, drawing) : await this.begin(whole, drawing);
      }
    } finally {
      this.busy = false;
    }
  }

  /**
   * Takes in the prompt; the first token. Also where a text grows beyond the length of training and all its keys have to
   * be turned otherwise then (`longrope`).
   */
  private async begin(prompt: readonly number[], { first }: Drawing): Promise<number[]> {
    const token = noGrad(() => {
      this.helper.prefill(prompt);
      return first(this.target.prefill(prompt));
    });
    return [await token.item()];
  }

  /** The tokens behind one that no cache has yet: what is accepted of the proposals, and one more. */
  private async round(last: number, { propose, review }: Drawing): Promise<number[]> {
    const { lookahead, target, helper } = this;
    const reviewed = noGrad(() => {
      const tokens = [tensor([[last]], { dtype: 'int64', device: target.device })];
      const drawn: Tensor[] = [];
      for (let i = 0; i < lookahead; i++) {
        const [token, probabilities] = propose(tokens.at(-1)!);
        tokens.push(token);
        drawn.push(probabilities);
      }
      // The draft's cache needs the last proposal, too, in case that it is accepted.
      propose(tokens.at(-1)!);
      const all = cat(tokens, 1);
      const verdict = review(all, cat(drawn));
      helper.place.copy_(target.place);
      return cat([verdict, all.squeeze(0)]);
    });
    const [accepted, next, , ...proposed] = (await reviewed.toArray()) as [number, number, number];
    this.proposals.made += lookahead;
    this.proposals.accepted += accepted;
    return [...proposed.slice(0, accepted), next];
  }

  private drawing(options: SamplingOptions): Drawing {
    const { temperature, topK, topP, minP, typicalP } = options;
    const key = JSON.stringify([temperature, topK, topP, minP, typicalP]);
    let found = this.drawings.get(key);
    if (found === undefined) this.drawings.set(key, (found = this.makeDrawing(options)));
    return found;
  }

  private makeDrawing(options: SamplingOptions): Drawing {
    const { lookahead, target, helper, compiles } = this;
    const { device } = target;
    const probabilities = (logits: Tensor): Tensor => tokenProbabilities(logits, options, null);
    return {
      first: oneGraph((logits: Tensor) => probabilities(logits).multinomial(1), compiles),
      propose: oneGraph((token: Tensor): Tensor[] => {
        const logits = helper.model.at(token, helper.place, { cache: helper.cache });
        helper.place.add_(1);
        const drawn = probabilities(logits.squeeze(1));
        return [drawn.multinomial(1), drawn];
      }, compiles),
      review: oneGraph((tokens: Tensor, drawn: Tensor) => {
        const places = target.place.add(arange(lookahead + 1, { device }));
        const logits = target.model.at(tokens, places, { cache: target.cache });
        const proposed = tokens.squeeze(0).narrow(0, 1, lookahead);
        const chance = rand([lookahead], { device });
        const { accepted, next } = acceptProposals(
          probabilities(logits.squeeze(0)),
          drawn,
          proposed,
          chance,
        );
        target.place.add_(accepted.add(1));
        return cat([accepted, next]);
      }, compiles),
    };
  }
}
