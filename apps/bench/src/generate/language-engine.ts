/**
 * @file `LanguageEngine`: a library that generates text with given weights.
 */
import type { FloatWeights } from './files/float-weights.js';
import type { Format } from './formats.js';

/** What an engine is asked to load. */
export interface LanguageTask {
  /** The weights, as float32. */
  readonly weights: FloatWeights;
  readonly format: Format;
  /** Tokens of a prompt and its answer. */
  readonly maxLength: number;
  readonly promptLength: number;
  readonly threads: number;
  /** A folder for the engine's files, deleted behind it. */
  readonly folder: string;
}

/** An answer and how long each of its tokens took, in milliseconds; the first one's time is that of the prompt. */
export interface TimedAnswer {
  readonly tokens: readonly number[];
  readonly times: readonly number[];
}

/** A model that is ready. */
export interface LoadedLanguageModel {
  /** What the runtime is, with its version. */
  readonly about: string;
  /** Bytes of the weights that a token reads. */
  readonly weightBytes: number;
  /** The likeliest tokens after a prompt, none of it known from before. */
  answer(prompt: readonly number[], count: number): Promise<TimedAnswer>;
  dispose(): Promise<void>;
}

/** See the file header. */
export interface LanguageEngine {
  readonly name: string;
  /** Rejects where the engine cannot run, with the reason. */
  load(task: LanguageTask): Promise<LoadedLanguageModel>;
}

/** Milliseconds of each token of a stream. */
export async function timed(tokens: AsyncIterable<number>, count: number): Promise<TimedAnswer> {
  const [values, times]: [number[], number[]] = [[], []];
  let before = performance.now();
  for await (const token of tokens) {
    const now = performance.now();
    values.push(token);
    times.push(now - before);
    before = now;
    if (values.length === count) break;
  }
  return { tokens: values, times };
}
