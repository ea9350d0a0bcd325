/**
 * @file `pnpm bench generate`: tokens per second of language models on the CPU, in each format of weights, beside peers
 * on the same weights and beside what the speed of memory permits.
 *
 * A token reads all weights once, so its time is at least what reading as many bytes takes; that is measured in every
 * round. Engines take turns, and ratios are those of single rounds: what slows the machine slows all.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TesseraError } from '@tessera/shared';
import { readConfig } from '@tessera/transformers';
import { uniforms } from '../harness/seeded.js';
import { median, roundRatios } from '../harness/statistics.js';
import { BandwidthProbe } from './bandwidth.js';
import { LANGUAGE_PEERS } from './engines/index.js';
import { tesseraLanguage } from './engines/tessera.js';
import { FloatWeights } from './files/float-weights.js';
import { FORMATS, type Format } from './formats.js';
import type { LanguageEngine, LanguageTask, LoadedLanguageModel } from './language-engine.js';
import { GENERATE_MODELS, type GenerateModel, withLayers } from './models.js';

/** The word that asks for it. */
export const GENERATE = 'generate';

/** An engine on a model in a format. */
export interface GenerateOutcome {
  readonly engine: string;
  readonly about: string;
  readonly weightBytes: number;
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  /** How many times as fast as Tessera: above 1 it is faster. */
  readonly decodeRatio: number;
  readonly prefillRatio: number;
  /** Share of tokens that are Tessera's; those of coarse weights part early, as each engine rounds in its own way. */
  readonly sameTokens: number;
}

/** An engine that did not run. */
export interface GenerateAbsence {
  readonly engine: string;
  readonly reason: string;
}

/** A model in a format. */
export interface GenerateRow {
  readonly model: string;
  /** What the model is, and how much of it. */
  readonly about: string;
  readonly format: Format;
  /** Bytes of the weights that a token reads: all but the rows of a table that is no output layer. */
  readonly weightBytes: number;
  /** What a compiled sum over as many bytes reads with all threads, in bytes per second. */
  readonly bandwidth: number;
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  /** Time of reading the weights' bytes over the time of a token. */
  readonly bandwidthShare: number;
  readonly peers: readonly (GenerateOutcome | GenerateAbsence)[];
}

/** See the file header. */
export interface GenerateReport {
  readonly threads: number;
  readonly promptTokens: number;
  readonly answerTokens: number;
  readonly rounds: number;
  readonly rows: readonly GenerateRow[];
}

interface Effort {
  readonly tokens: number;
  readonly prompt: number;
  readonly rounds: number;
}

const FULL: Effort = { tokens: 16, prompt: 128, rounds: 3 };
const QUICK: Effort = { tokens: 4, prompt: 16, rounds: 2 };

/** What was measured of one engine, a sample for each round. */
interface Samples {
  readonly engine: LanguageEngine;
  readonly model: LoadedLanguageModel;
  /** Milliseconds of a token, and of the prompt. */
  readonly decode: number[];
  readonly prefill: number[];
  tokens: readonly number[];
}

function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n')[0]!.slice(0, 200);
}

async function start(
  engines: readonly LanguageEngine[],
  task: LanguageTask,
): Promise<{ running: Samples[]; absent: GenerateAbsence[] }> {
  const running: Samples[] = [];
  const absent: GenerateAbsence[] = [];
  for (const engine of engines)
    try {
      const model = await engine.load(task);
      running.push({ engine, model, decode: [], prefill: [], tokens: [] });
    } catch (error) {
      if (engine === tesseraLanguage) throw error;
      absent.push({ engine: engine.name, reason: reasonOf(error) });
    }
  return { running, absent };
}

/** One answer of every engine that still runs. */
async function round(
  running: Samples[],
  absent: GenerateAbsence[],
  prompt: readonly number[],
  count: number,
  counts: boolean,
): Promise<void> {
  for (const samples of [...running])
    try {
      const { tokens, times } = await samples.model.answer(prompt, count);
      if (!counts) samples.tokens = tokens;
      else {
        samples.prefill.push(times[0]!);
        samples.decode.push(median(times.slice(1)));
      }
    } catch (error) {
      if (samples.engine === tesseraLanguage) throw error;
      running.splice(running.indexOf(samples), 1);
      absent.push({ engine: samples.engine.name, reason: reasonOf(error) });
    }
}

function outcome(samples: Samples, own: Samples, promptTokens: number): GenerateOutcome {
  const { engine, model, decode, prefill, tokens } = samples;
  return {
    engine: engine.name,
    about: model.about,
    weightBytes: model.weightBytes,
    decodeTokensPerSecond: 1000 / median(decode),
    prefillTokensPerSecond: (promptTokens * 1000) / median(prefill),
    decodeRatio: median(roundRatios(own.decode, decode)),
    prefillRatio: median(roundRatios(own.prefill, prefill)),
    sameTokens: tokens.filter((token, i) => token === own.tokens[i]).length / tokens.length,
  };
}

async function measure(
  { name, about }: GenerateModel,
  weights: FloatWeights,
  format: Format,
  engines: readonly LanguageEngine[],
  effort: Effort,
): Promise<GenerateRow> {
  const { tokens, prompt, rounds } = effort;
  const next = uniforms(7);
  const newPrompt = (): number[] =>
    Array.from({ length: prompt }, () => Math.floor(next() * weights.config.vocabSize));
  const folder = mkdtempSync(join(tmpdir(), 'tessera-bench-'));
  try {
    const task = {
      weights,
      format,
      maxLength: prompt + tokens,
      promptLength: prompt,
      threads: availableParallelism(),
      folder,
    };
    const { running, absent } = await start(engines, task);
    const own = running.find(({ engine }) => engine === tesseraLanguage)!;
    const { weightBytes } = own.model;
    const probe = new BandwidthProbe(weightBytes);
    const reads: number[] = [];
    for (let i = 0; i < rounds + 1; i++) {
      // The first round compiles, and its answers are compared.
      await round(running, absent, newPrompt(), tokens, i > 0);
      const passes = Array.from({ length: 8 }, () => probe.pass());
      if (i > 0) reads.push(median(passes));
    }
    probe.dispose();
    for (const { model } of running) await model.dispose();
    const { decodeTokensPerSecond, prefillTokensPerSecond } = outcome(own, own, prompt);
    return {
      model: name,
      about,
      format,
      weightBytes,
      bandwidth: (weightBytes * 1000) / median(reads),
      decodeTokensPerSecond,
      prefillTokensPerSecond,
      bandwidthShare: median(roundRatios(reads, own.decode)),
      peers: [
        ...running.filter((each) => each !== own).map((each) => outcome(each, own, prompt)),
        ...absent,
      ],
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Those of a list that are asked for by name; without names, those for which `byDefault` holds. @throws invalid-argument */
function chosen<T>(
  what: string,
  all: readonly T[],
  nameOf: (each: T) => string,
  names: readonly string[],
  byDefault: (each: T) => boolean,
): T[] {
  const known = all.map(nameOf);
  for (const name of names)
    if (name !== 'all' && !known.includes(name))
      throw new TesseraError('invalid-argument', `There is no ${what} '${name}'.`, {
        hints: [`There are ${known.join(', ')}.`],
      });
  if (names.length === 0) return all.filter(byDefault);
  return all.filter((each) => names.includes('all') || names.includes(nameOf(each)));
}

/** Runs it. @param args what follows the name on the command line @throws invalid-argument */
export async function generateReport(args: readonly string[]): Promise<GenerateReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      model: { type: 'string', multiple: true, default: [] },
      format: { type: 'string', multiple: true, default: [] },
      peers: { type: 'string', default: '' },
      layers: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  const effort = values.quick ? QUICK : FULL;
  const everything = (): boolean => true;
  const models = chosen('model', GENERATE_MODELS, (each) => each.name, values.model, everything);
  const formats = chosen('format', FORMATS, (each) => each, values.format, everything);
  const peers = values.peers.split(',').filter((name) => name !== '');
  const engines = [
    tesseraLanguage,
    ...chosen(
      'peer',
      LANGUAGE_PEERS,
      (each) => each.name,
      peers,
      () => false,
    ),
  ];
  const rows: GenerateRow[] = [];
  for (const model of models) {
    const sized = withLayers(model, values.layers === undefined ? null : Number(values.layers));
    const weights = FloatWeights.random(readConfig(sized.config), 0);
    for (const format of formats) rows.push(await measure(sized, weights, format, engines, effort));
  }
  const { prompt, tokens, rounds } = effort;
  return {
    threads: availableParallelism(),
    promptTokens: prompt,
    answerTokens: tokens,
    rounds,
    rows,
  };
}
