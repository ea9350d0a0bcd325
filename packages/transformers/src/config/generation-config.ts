/**
 * @file What a `generation_config.json` asks for: defaults of `generate()`, and what there is no such thing for here. Fields
 * mean what they mean in `GenerationConfig` of `transformers` 5.18.
 */
import { TesseraError } from '@tessera/shared';
import type { EarlyStopping } from '../generate/beam-hypotheses.js';
import type { GenerateOptions } from '../generate/options.js';
import type { JsonConfig } from './json-config.js';

/** See the file header. */
export interface GenerationConfig {
  /** Options that hold where a call says nothing else. */
  readonly options: Omit<GenerateOptions, 'endTokens' | 'decode' | 'seed' | 'signal'>;
  /** Most tokens of prompt and answer together, where nothing is said of the answer. */
  readonly maxLength?: number;
  readonly beams: {
    readonly numBeams?: number;
    readonly lengthPenalty?: number;
    readonly earlyStopping?: EarlyStopping;
  };
  /** Fields that change texts in ways that are not there. */
  readonly unknown: readonly string[];
}

/** Fields that change texts, with the values that do not. */
const UNKNOWN: Readonly<Record<string, readonly unknown[]>> = {
  constraints: [],
  diversity_penalty: [0],
  dola_layers: [],
  encoder_no_repeat_ngram_size: [0],
  encoder_repetition_penalty: [1],
  exponential_decay_length_penalty: [],
  force_words_ids: [],
  forced_bos_token_id: [],
  forced_eos_token_id: [],
  guidance_scale: [1],
  max_time: [],
  min_length: [0],
  num_beam_groups: [1],
  num_return_sequences: [1],
  penalty_alpha: [0],
  remove_invalid_values: [false],
  sequence_bias: [],
  token_healing: [false],
  watermarking_config: [],
};
/** Those that count where tokens are drawn only. */
const UNKNOWN_DRAWING: typeof UNKNOWN = {
  epsilon_cutoff: [0],
  eta_cutoff: [0],
  top_h: [],
};

/** Without the fields that nothing is said of. */
function said<T extends object>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  ) as { [K in keyof T]?: NonNullable<T[K]> };
}

const tokensOrNull = (json: JsonConfig, name: string): readonly number[] | null => {
  const tokens = json.tokens(name);
  return tokens.length > 0 ? tokens : null;
};

/** See the file header. @throws model-invalid */
export function readGeneration(json: JsonConfig): GenerationConfig {
  const draws = json.flag('do_sample', false);
  // No limit is written as 0.
  const count = (name: string): number | null => json.numberOrNull(name) || null;
  const stops = json.value('stop_strings');
  const unknown = { ...UNKNOWN, ...(draws && UNKNOWN_DRAWING) };
  return {
    options: said({
      temperature: draws ? json.positive('temperature', 1) : null,
      topK: json.numberOrNull('top_k', draws ? 50 : null) || null,
      topP: json.numberOrNull('top_p'),
      minP: json.numberOrNull('min_p'),
      typicalP: json.numberOrNull('typical_p'),
      repetitionPenalty: json.numberOrNull('repetition_penalty'),
      maxNewTokens: count('max_new_tokens'),
      minNewTokens: count('min_new_tokens'),
      noRepeatNgramSize: count('no_repeat_ngram_size'),
      suppressTokens: tokensOrNull(json, 'suppress_tokens'),
      beginSuppressTokens: tokensOrNull(json, 'begin_suppress_tokens'),
      badWords: json.value('bad_words_ids') as readonly (readonly number[])[] | undefined,
      stopStrings: (typeof stops === 'string' ? [stops] : stops) as readonly string[] | undefined,
    }),
    ...said({ maxLength: count('max_length') }),
    beams: said({
      numBeams: count('num_beams'),
      lengthPenalty: json.numberOrNull('length_penalty'),
      earlyStopping: json.value('early_stopping') as EarlyStopping | undefined,
    }),
    unknown: Object.entries(unknown).flatMap(([name, neutral]) => {
      const value = json.value(name);
      return value === undefined || value === null || neutral.includes(value) ? [] : [name];
    }),
  };
}

/** @throws model-unsupported for what the file asks for and `owner` does not have */
export function checkGeneration(owner: string, fields: readonly string[]): void {
  if (fields.length === 0) return;
  throw new TesseraError(
    'model-unsupported',
    `generation_config.json asks for ${fields.join(', ')}, which ${owner} does not have.`,
    {
      context: { fields },
      hints: [
        ...(fields.includes('num_beams') ? ['BeamSearch goes on with several texts.'] : []),
        'Texts would be others without: take the field out of generation_config.json to have these.',
      ],
    },
  );
}
