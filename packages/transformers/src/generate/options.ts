/**
 * @file What can be asked of generation.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { checkGeneration } from '../config/generation-config.js';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { TokenRuleOptions } from './token-rules.js';

/** How the next token is picked from the logits; all run on the device of the model. */
export interface SamplingOptions {
  /** 0 (default) takes the likeliest token; above, logits are divided by it and a token is drawn. */
  readonly temperature?: number;
  /** Only the `topK` likeliest tokens. */
  readonly topK?: number;
  /** Only the likeliest tokens that together have this share of the probability; the likeliest always. */
  readonly topP?: number;
  /** Only tokens at least this likely, as a share of the likeliest one's probability. */
  readonly minP?: number;
  /**
   * Only tokens that say about as much as is expected of one, which together have this share of the probability; 1
   * changes nothing.
   */
  readonly typicalP?: number;
  /**
   * Logits of tokens that were there before are divided by it (multiplied where negative); 1 changes nothing. The padding
   * token of a shorter prompt of a batch was there, too, as in `transformers`.
   */
  readonly repetitionPenalty?: number;
}

/** See the file header. Where a model's `generation_config.json` says something of one, that is the default. */
export interface GenerateOptions extends SamplingOptions, TokenRuleOptions {
  /** Most tokens that are generated for each prompt (default 128, or what there is room for). */
  readonly maxNewTokens?: number;
  /** Tokens that end a text; default: those of the model's configuration. An empty list: none. */
  readonly endTokens?: readonly number[];
  /** Texts that end a text; needs `decode`. */
  readonly stopStrings?: readonly string[];
  /** From tokens to text, as a tokenizer does it; for `stopStrings`. */
  readonly decode?: (tokens: readonly number[]) => string;
  /** Seeds the random numbers first (`manualSeed`). */
  readonly seed?: number;
  /** Ends generation: what is under way rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

const NAMES: OptionNames<GenerateOptions> = {
  temperature: true,
  topK: true,
  topP: true,
  minP: true,
  typicalP: true,
  repetitionPenalty: true,
  maxNewTokens: true,
  minNewTokens: true,
  suppressTokens: true,
  beginSuppressTokens: true,
  badWords: true,
  noRepeatNgramSize: true,
  endTokens: true,
  stopStrings: true,
  decode: true,
  seed: true,
  signal: true,
};

function outOfRange(name: string, value: number, wanted: string): TesseraError {
  return new TesseraError('invalid-argument', `generate: ${name} is ${value}, not ${wanted}.`, {
    context: { option: name, value },
  });
}

/** @throws invalid-argument */
export function checkEndTokens(tokens: unknown): void {
  if (tokens === undefined) return;
  if (Array.isArray(tokens) && tokens.every((token) => Number.isSafeInteger(token))) return;
  throw new TesseraError(
    'invalid-argument',
    `generate: endTokens are ${Array.isArray(tokens) ? 'a list of something else' : String(tokens)}, not token numbers.`,
    { hints: ['Give a list: { endTokens: [2] }; an empty one has no text end early.'] },
  );
}

/** Options without those that are undefined, which say nothing. */
export function defined<T extends object>(options: T): Partial<T> {
  const said = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as Partial<T>;
}

/** How many tokens are made where nothing is said of it. */
export function defaultCount({ generation }: DecoderConfig, longest: number, room: number): number {
  const { options, maxLength } = generation ?? {};
  const asked = options?.maxNewTokens ?? (maxLength === undefined ? 128 : maxLength - longest);
  return Math.max(1, Math.min(asked, room));
}

/**
 * Options of a call for which there is room for `room` tokens, with the defaults of the model's `generation_config.json`.
 *
 * @throws model-unsupported
 */
export function withDefaults(
  owner: string,
  options: GenerateOptions,
  config: DecoderConfig,
  longest: number,
  room: number,
): GenerateOptions & { readonly maxNewTokens: number } {
  const { options: defaults, unknown = [], beams } = config.generation ?? {};
  checkGeneration(owner, [...unknown, ...((beams?.numBeams ?? 1) > 1 ? ['num_beams'] : [])]);
  return {
    ...defaults,
    ...defined(options),
    maxNewTokens: options.maxNewTokens ?? defaultCount(config, longest, room),
  };
}

/** @throws invalid-argument */
export function checkGenerateOptions(options: GenerateOptions): void {
  checkOptionNames('generate', options, NAMES);
  const { temperature = 0, topK, topP, minP, typicalP } = options;
  const { repetitionPenalty, maxNewTokens = 1 } = options;
  if (!(temperature >= 0)) throw outOfRange('temperature', temperature, 'at least 0');
  if (topK !== undefined && !(Number.isInteger(topK) && topK >= 1))
    throw outOfRange('topK', topK, 'a whole number from 1');
  if (topP !== undefined && !(topP >= 0 && topP <= 1)) throw outOfRange('topP', topP, 'in [0, 1]');
  if (minP !== undefined && !(minP >= 0 && minP <= 1)) throw outOfRange('minP', minP, 'in [0, 1]');
  if (typicalP !== undefined && !(typicalP > 0 && typicalP <= 1))
    throw outOfRange('typicalP', typicalP, 'in (0, 1]');
  if (repetitionPenalty !== undefined && !(repetitionPenalty > 0))
    throw outOfRange('repetitionPenalty', repetitionPenalty, 'above 0');
  if (!(Number.isInteger(maxNewTokens) && maxNewTokens >= 1))
    throw outOfRange('maxNewTokens', maxNewTokens, 'a whole number from 1');
  checkEndTokens(options.endTokens);
  const { stopStrings } = options;
  if (
    stopStrings !== undefined &&
    !(Array.isArray(stopStrings) && stopStrings.every((text) => typeof text === 'string' && text))
  )
    throw new TesseraError(
      'invalid-argument',
      `generate: stopStrings are ${JSON.stringify(stopStrings)}, not texts.`,
      { hints: ["Give a list: { stopStrings: ['User:'] }; an empty text ends nothing."] },
    );
  if ((stopStrings?.length ?? 0) > 0 && options.decode === undefined)
    throw new TesseraError('invalid-argument', 'generate: stopStrings need decode.', {
      hints: ['Give the tokenizer: { decode: (tokens) => tokenizer.decode(tokens) }.'],
    });
}
