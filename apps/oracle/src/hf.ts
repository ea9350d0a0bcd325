/**
 * @file `pnpm oracle:hf`: language models of ten Hugging Face families against what `transformers` computed.
 *
 * Of each: logits, logits of a batch that is padded on the left, and forty tokens chosen greedily, with a static and
 * with a growing cache. Ends with one JSON line: {mode, device, total, passed, failed, worst}, in models.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { compile, initWebGpu, observeCompilations, registerKernelBackend } from '@tessera/compile';
import { type Tensor, loadCheckpoint, noGrad, tensor } from '@tessera/tensor';
import {
  type CausalLM,
  type ForwardOptions,
  GrowingCache,
  TextGenerator,
  makeCausalLM,
} from '@tessera/transformers';
import { oneOf, readCommandLine, refuse } from './command-line.js';

/** The recordings that the repository carries. */
const RECORDED = new URL('../data/hf.json', import.meta.url);
/** Of the largest logit. */
const TOLERANCE = 1e-4;
const MODES = ['eager', 'inductor'] as const;
type Mode = (typeof MODES)[number];

const USAGE = `usage: pnpm oracle:hf [--mode ${MODES.join('|')}] [--device cpu|wgpu] [--model NAME] [--file F] [--json]

Runs language models whose logits and greedy tokens are recorded.
  --model NAME  only models whose name contains NAME
  --file F      recordings: F.json with F.safetensors beside it
  --json        print only the last line
  --pack OUT    write OUT.json and OUT.safetensors.br instead of running them`;

/** What is recorded of a model. */
interface Recording {
  readonly name: string;
  readonly config: unknown;
  /** Weights under the names of the family's checkpoints. */
  readonly state: Readonly<Record<string, Tensor>>;
  /** `ids`, `logits`, `mask`, `logits_left_padded`, `greedy`. */
  readonly recorded: (name: string) => Tensor;
}

/** What a model did. */
export interface HfOutcome {
  readonly name: string;
  /** Errors of logits, of the largest. */
  readonly logits: number;
  readonly leftPadded: number;
  /** Of the generated tokens, those that agree up to the first that does not. */
  readonly staticTokens: number;
  readonly growingTokens: number;
  readonly tokens: number;
  /** Graphs that the backend compiled to generate with the static cache. */
  readonly graphs: number;
  readonly passed: boolean;
}

async function readRecordings(path: string | URL): Promise<Recording[]> {
  if (!existsSync(path)) refuse(`There is no file ${String(path)}.`, USAGE);
  const stem = String(path instanceof URL ? path.pathname : path).replace(/\.json$/, '');
  const packed = existsSync(`${stem}.safetensors.br`);
  const bytes = packed
    ? brotliDecompressSync(readFileSync(`${stem}.safetensors.br`))
    : readFileSync(`${stem}.safetensors`);
  const all = await loadCheckpoint(bytes);
  const { models } = JSON.parse(readFileSync(path, 'utf8')) as {
    models: Record<string, { config: unknown }>;
  };
  return Object.entries(models).map(([name, { config }]) => {
    const prefix = `${name}/state/`;
    const own = Object.entries(all).filter(([key]) => key.startsWith(prefix));
    return {
      name,
      config,
      state: Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value])),
      recorded: (key) => all[`${name}/${key}`] ?? refuse(`There is no ${name}/${key}.`, USAGE),
    };
  });
}

/** Largest difference between logits where `mask` is 1, over the largest logit. */
function errorOf(logits: Tensor, wanted: Tensor, mask: Tensor | null): number {
  let difference = logits.sub(wanted).abs();
  if (mask !== null) difference = difference.mul(mask.unsqueeze(-1));
  return (difference.max().item() as number) / (wanted.abs().max().item() as number);
}

/** How many tokens agree before the first that does not. */
function agreeing(tokens: readonly number[], wanted: readonly number[]): number {
  const at = wanted.findIndex((token, i) => tokens[i] !== token);
  return at < 0 ? wanted.length : at;
}

type Call = (ids: Tensor, options?: ForwardOptions) => Tensor;

async function growing(
  model: CausalLM,
  call: Call,
  prompt: readonly number[],
  count: number,
  device: 'cpu' | 'wgpu',
): Promise<number[]> {
  const cache = new GrowingCache(model.config);
  const tokens: number[] = [];
  let ids = tensor([[...prompt]], { dtype: 'int64', device });
  for (let i = 0; i < count; i++) {
    const logits = call(ids, { cache });
    ids = logits
      .select(1, logits.size(1) - 1)
      .argmax(-1)
      .unsqueeze(1);
    tokens.push(((await ids.toArray()) as number[][])[0]![0]!);
  }
  return tokens;
}

/** Runs a recorded model. */
export async function runHfModel(
  { config, state, name, recorded }: Recording,
  mode: Mode,
  device: 'cpu' | 'wgpu',
): Promise<HfOutcome> {
  const model = makeCausalLM(state, config).to(device);
  const [ids, mask] = [recorded('ids'), recorded('mask')];
  const greedy = (recorded('greedy').toArray() as number[][])[0]!;
  const prompt = greedy.slice(0, ids.size(1));
  const wanted = greedy.slice(prompt.length);
  const eager: Call = (x, options = {}) => noGrad(() => model.call(x, options));
  const call = mode === 'eager' ? eager : (compile(eager, { fullgraph: true }) as Call);
  const read = async (logits: Tensor): Promise<Tensor> =>
    device === 'cpu' ? logits : tensor((await logits.toArray()) as number[][][]);
  const logits = await read(call(ids.to(device)));
  const padded = await read(call(ids.to(device), { attentionMask: mask.to(device) }));
  let graphs = 0;
  const stop = observeCompilations(() => graphs++);
  const generator = new TextGenerator(model, {
    maxLength: greedy.length,
    chunk: 16,
    compile: mode === 'inductor',
  });
  const options = { maxNewTokens: wanted.length, endTokens: [] };
  const [own] = (await generator.generate(prompt, options)) as [number[]];
  stop();
  const grown = await growing(model, eager, prompt, wanted.length, device);
  const outcome = {
    name,
    logits: errorOf(logits, recorded('logits'), null),
    leftPadded: errorOf(padded, recorded('logits_left_padded'), mask.to('float32')),
    staticTokens: agreeing(own, wanted),
    growingTokens: agreeing(grown, wanted),
    tokens: wanted.length,
    graphs,
  };
  const near = outcome.logits <= TOLERANCE && outcome.leftPadded <= TOLERANCE;
  const passed =
    near && outcome.staticTokens === wanted.length && outcome.growingTokens === wanted.length;
  return { ...outcome, passed };
}

function describe(outcome: HfOutcome, seconds: number): string {
  const { name, passed, logits, leftPadded, staticTokens, growingTokens, tokens, graphs } = outcome;
  return [
    `${passed ? 'ok    ' : 'FAILED'} ${name.padEnd(10)}`,
    `logits ${logits.toExponential(1)}, left-padded ${leftPadded.toExponential(1)},`,
    `tokens ${staticTokens} and ${growingTokens} of ${tokens},`,
    `${graphs} graphs to generate, ${seconds.toFixed(1)} s`,
  ].join(' ');
}

async function pack(from: string, to: string): Promise<void> {
  const params = { [constants.BROTLI_PARAM_LGWIN]: 24 };
  writeFileSync(`${to}.json`, readFileSync(from));
  const tensors = readFileSync(from.replace(/\.json$/, '.safetensors'));
  writeFileSync(`${to}.safetensors.br`, brotliCompressSync(tensors, { params }));
}

/** Runs the models of a file. @throws invalid-argument */
export async function runHfModels(
  mode: Mode,
  device: 'cpu' | 'wgpu',
  {
    file = RECORDED,
    model = '',
    report = () => {},
  }: {
    readonly file?: string | URL;
    readonly model?: string;
    readonly report?: (line: string) => void;
  } = {},
): Promise<HfOutcome[]> {
  const chosen = (await readRecordings(file)).filter(({ name }) => name.includes(model));
  if (chosen.length === 0) refuse(`There is no model '${model}'.`, USAGE);
  const outcomes: HfOutcome[] = [];
  for (const recording of chosen) {
    const start = performance.now();
    const outcome = await runHfModel(recording, mode, device);
    report(describe(outcome, (performance.now() - start) / 1000));
    outcomes.push(outcome);
  }
  return outcomes;
}

/** Runs the program. @throws invalid-argument */
export async function runHf(argv: readonly string[]): Promise<void> {
  const options = readCommandLine(argv, { usage: USAGE, modes: MODES, own: ['device', 'model'] });
  if (options === null) {
    console.log(USAGE);
    return;
  }
  const { mode, file, json, own } = options;
  const device = oneOf('device', own['device']!, ['cpu', 'wgpu'], USAGE);
  if (options.pack !== null) {
    await pack(file ?? refuse('--pack needs --file.', USAGE), options.pack);
    return;
  }
  if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  const report = json ? undefined : (line: string) => console.log(line);
  const outcomes = await runHfModels(mode, device, {
    ...(own['model'] != null && { model: own['model'] }),
    ...(file !== null && { file }),
    ...(report && { report }),
  });
  const passed = outcomes.filter((outcome) => outcome.passed).length;
  const worst = Math.max(...outcomes.map(({ logits, leftPadded }) => Math.max(logits, leftPadded)));
  const failed = outcomes.length - passed;
  console.log(JSON.stringify({ mode, device, total: outcomes.length, passed, failed, worst }));
  process.exitCode = failed > 0 ? 1 : 0;
}
