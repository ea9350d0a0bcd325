/**
 * @file `pnpm bench generate`: tokens per second of language models on the CPU, as JSON.
 *
 * Every token reads every weight once, so memory sets a limit: the time in which as many bytes as the weights have
 * are read, measured in the same run as a compiled sum over a tensor that no cache holds. Weights are random, in real
 * shapes; tokens are picked greedily, and none ends a text. Prompts are new each time, so that nothing of them lies in
 * the cache already.
 */
import { parseArgs } from 'node:util';
import { availableParallelism } from 'node:os';
import { compile } from '@tessera/compile';
import { TesseraError } from '@tessera/shared';
import { type DType, type Tensor, manualSeed, noGrad, ones } from '@tessera/tensor';
import {
  CausalLM,
  QuantizedLinear,
  TextGenerator,
  quantize,
  readConfig,
} from '@tessera/transformers';
import { median } from '../harness/statistics.js';
import { uniforms } from '../harness/seeded.js';
import { GENERATE_MODELS, type GenerateModel } from './models.js';

/** Name on the command line. */
export const GENERATE = 'generate';

const FORMATS = ['float32', 'float16', 'int8', 'int4'] as const;
type Format = (typeof FORMATS)[number];

/** A model in a format. */
export interface GenerateRow {
  readonly model: string;
  readonly format: Format;
  /** Bytes of the weights that a token reads: all but the rows of an embedding table that is no output layer. */
  readonly weightBytes: number;
  readonly decodeTokensPerSecond: number;
  readonly prefillTokensPerSecond: number;
  /** Share of the memory's speed that reading the weights takes while decoding. */
  readonly bandwidthShare: number;
}

/** See the file header. */
export interface GenerateReport {
  readonly threads: number;
  /** What a compiled sum reads, in bytes per second. */
  readonly bandwidth: number;
  readonly rows: readonly GenerateRow[];
}

interface Effort {
  readonly tokens: number;
  readonly prompt: number;
  readonly rounds: number;
  readonly bandwidthBytes: number;
}

const FULL: Effort = { tokens: 48, prompt: 256, rounds: 5, bandwidthBytes: 2 ** 28 };
const QUICK: Effort = { tokens: 4, prompt: 16, rounds: 2, bandwidthBytes: 2 ** 22 };

/** Bytes per second of a sum over memory. */
function readSpeed({ bandwidthBytes, rounds }: Effort): number {
  const x = ones([bandwidthBytes / 4]);
  const sum = compile((t: Tensor) => t.sum());
  const times = noGrad(() =>
    Array.from({ length: rounds + 2 }, () => {
      const start = performance.now();
      sum(x).dispose();
      return performance.now() - start;
    }),
  );
  x.dispose();
  return bandwidthBytes / (Math.min(...times.slice(2)) / 1000);
}

async function inFormat(model: CausalLM, format: Format): Promise<void> {
  if (format === 'float16') model.to('float16' satisfies DType);
  else if (format === 'int8') await quantize(model, { bits: 8 });
  else if (format === 'int4') await quantize(model, { bits: 4, group: 64 });
}

/** Bytes of what a token reads. */
function weightBytes(model: CausalLM): number {
  const table = model.model.embed_tokens.weight;
  const isOutput = model.lm_head === null || model.lm_head.weight === table;
  const counted = new Set<Tensor>(model.parameters());
  if (!isOutput) counted.delete(table);
  let bytes = 0;
  for (const tensor of counted) bytes += tensor.storage.nbytes;
  for (const module of model.modules())
    if (module instanceof QuantizedLinear) bytes += module.weightBytes;
  return bytes;
}

async function measure(
  { name, config }: GenerateModel,
  format: Format,
  effort: Effort,
  bandwidth: number,
): Promise<GenerateRow> {
  manualSeed(0);
  const model = new CausalLM(readConfig(config));
  model.eval();
  await inFormat(model, format);
  const { tokens, prompt, rounds } = effort;
  const next = uniforms(7);
  const newPrompt = (length: number): number[] =>
    Array.from({ length }, () => Math.floor(next() * model.config.vocabSize));
  const generator = new TextGenerator(model, {
    maxLength: prompt + tokens,
    chunk: Math.min(prompt, 128),
  });
  const decode: number[] = [];
  const prefill: number[] = [];
  for (let round = 0; round < rounds + 1; round++) {
    let before = performance.now();
    const times: number[] = [];
    for await (const step of generator.stream(newPrompt(prompt), { maxNewTokens: tokens })) {
      void step;
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
    // The first round compiles.
    if (round === 0) continue;
    prefill.push(times[0]!);
    decode.push(...times.slice(1));
  }
  const bytes = weightBytes(model);
  const decodeTokensPerSecond = 1000 / median(decode);
  return {
    model: name,
    format,
    weightBytes: bytes,
    decodeTokensPerSecond,
    prefillTokensPerSecond: (prompt * 1000) / median(prefill),
    bandwidthShare: (bytes * decodeTokensPerSecond) / bandwidth,
  };
}

/** Runs it. @param args what follows the name on the command line @throws invalid-argument */
export async function generateReport(args: readonly string[]): Promise<GenerateReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      model: { type: 'string', multiple: true, default: [] },
      format: { type: 'string', multiple: true, default: [] },
      quick: { type: 'boolean', default: false },
    },
  });
  const known = GENERATE_MODELS.map(({ name }) => name);
  for (const name of values.model)
    if (!known.includes(name))
      throw new TesseraError('invalid-argument', `There is no model '${name}'.`, {
        hints: [`Models are ${known.join(', ')}.`],
      });
  const effort = values.quick ? QUICK : FULL;
  const models = GENERATE_MODELS.filter(({ name, isDefault }) =>
    values.model.length === 0 ? isDefault : values.model.includes(name),
  );
  const formats = FORMATS.filter(
    (format) => values.format.length === 0 || values.format.includes(format),
  );
  const bandwidth = readSpeed(effort);
  const rows: GenerateRow[] = [];
  for (const model of models)
    for (const format of formats) rows.push(await measure(model, format, effort, bandwidth));
  return { threads: availableParallelism(), bandwidth, rows };
}
