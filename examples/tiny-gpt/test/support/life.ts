/**
 * @file The whole life of a model: trained, exported, loaded, quantized, tuned on another text, merged, generated from.
 * One program, for Node and for a page; what differs is where files go.
 */
import { compile } from '@tessera/compile';
import { functional as F, optim } from '@tessera/nn';
import { type DeviceType, type Tensor, manualSeed, noGrad } from '@tessera/tensor';
import {
  type CausalLM,
  type FileSink,
  type QuantizeFormat,
  TextGenerator,
  addLora,
  loadCausalLM,
  loadLora,
  mergeLora,
  quantize,
  removeLora,
  saveLora,
} from '@tessera/transformers';
import { huggingFaceFolder } from '../../src/export.js';
import { GPT } from '../../src/model.js';
import { Text, getBatch } from '../../src/text.js';
import { configure, trainingStep } from '../../src/train.js';

/** Where files go, and where they are read from. */
export interface Host {
  readonly device: DeviceType;
  write(folder: string): FileSink;
  at(folder: string): string | URL;
}

/** What was seen on the way. */
export interface Life {
  /** Mean losses of the first and last steps of training. */
  readonly trained: readonly [number, number];
  /** Largest differences of logits: loaded from trained; adapters of a file from the tuned ones; merged from tuned. */
  readonly loaded: number;
  readonly adapters: number;
  readonly merged: number;
  /** Perplexity on text that was not trained on. */
  readonly perplexity: { readonly float: number; readonly int8: number; readonly int4: number };
  /** Perplexity on the other text, before and after tuning. */
  readonly tuned: readonly [number, number];
  readonly written: string;
}

const BLOCK = 32;
const CONFIG = {
  batchSize: 8,
  maxSteps: 80,
  warmupSteps: 4,
  lr: 4e-3,
  minLr: 4e-4,
  weightDecay: 0.1,
  gradClip: 1,
};

function train(model: GPT, text: Text): number[] {
  const training = configure(model, CONFIG);
  const step = compile(trainingStep(training, CONFIG), { fullgraph: true });
  return Array.from({ length: CONFIG.maxSteps }, () => {
    const loss = step(...getBatch(text.train, CONFIG.batchSize, BLOCK)).item();
    training.scheduler.step();
    return loss;
  });
}

/** A text in rows of a block, and what follows each character. */
function rowsOf(data: Tensor, device: DeviceType): [Tensor, Tensor] {
  const rows = Math.min(6, Math.floor((data.numel - 1) / BLOCK));
  const part = (from: number): Tensor =>
    data
      .narrow(0, from, rows * BLOCK)
      .reshape([rows, BLOCK])
      .to(device);
  return [part(0), part(1)];
}

const lossOf = (model: CausalLM, [x, y]: readonly [Tensor, Tensor]): Tensor =>
  F.crossEntropy(model.call(x).flatten(0, 1), y.flatten());

async function perplexity(model: CausalLM, rows: readonly [Tensor, Tensor]): Promise<number> {
  return Math.exp(await noGrad(() => lossOf(model, rows)).item());
}

async function far(a: Tensor, b: Tensor): Promise<number> {
  return await a.sub(b).abs().max().item();
}

/** Trains adapters, the whole step compiled. */
async function tune(
  model: CausalLM,
  steps: number,
  rows: readonly [Tensor, Tensor],
): Promise<void> {
  addLora(model, { rank: 4, targets: ['q_proj', 'v_proj', 'up_proj', 'down_proj'] });
  const weights = model.parameters().filter(({ requiresGrad }) => requiresGrad);
  const optimizer = new optim.AdamW(weights, { lr: 1e-2 });
  const step = compile(
    () => {
      const loss = lossOf(model, rows);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss.detach();
    },
    { fullgraph: true },
  );
  for (let i = 0; i < steps; i++) await step().item();
}

/** See the file header. */
export async function life(host: Host, first: string, second: string): Promise<Life> {
  const { device } = host;
  manualSeed(11);
  const text = new Text(first);
  const sizes = { vocabSize: text.chars.length, blockSize: BLOCK, layers: 2, heads: 2, width: 64 };
  const gpt = new GPT({ ...sizes, dropout: 0 });
  const losses = train(gpt, text);
  const mean = (part: number[]): number => part.reduce((a, b) => a + b) / part.length;

  const sink = host.write('gpt');
  for (const [name, content] of Object.entries(huggingFaceFolder(gpt.eval(), text)))
    await sink(name, content);
  const load = (): Promise<CausalLM> => loadCausalLM(host.at('gpt'), { device });
  const model = await load();
  const rows = rowsOf(text.val, device);
  const logits = (of: CausalLM): Tensor => noGrad(() => of.call(rows[0]));
  const wanted = noGrad(() => gpt.call(rowsOf(text.val, 'cpu')[0])).to(device);
  const loaded = await far(logits(model), wanted);

  const quantized = async (format: QuantizeFormat): Promise<number> => {
    const rounded = await load();
    await quantize(rounded, format);
    return perplexity(rounded, rows);
  };
  const float = await perplexity(model, rows);
  const int8 = await quantized({ bits: 8 });
  const int4 = await quantized({ bits: 4, group: 32 });

  const other = rowsOf(text.encode(second), device);
  const before = await perplexity(model, other);
  await tune(model, device === 'wgpu' ? 10 : 25, other);
  const after = await perplexity(model, other);
  const tuned = logits(model);
  await saveLora(model, host.write('adapter'));
  const again = await load();
  await loadLora(again, host.at('adapter'));
  const adapters = await far(logits(again), tuned);
  mergeLora(again);
  removeLora(again);
  const merged = await far(logits(again), tuned);

  const generator = new TextGenerator(again, { maxLength: BLOCK, chunk: 8 });
  const prompt = text.encode(second.slice(0, 8)).toArray() as number[];
  const [answer] = await generator.generate(prompt, {
    temperature: 0.5,
    topK: 5,
    seed: 1,
    maxNewTokens: 20,
  });
  return {
    trained: [mean(losses.slice(0, 5)), mean(losses.slice(-5))],
    loaded,
    adapters,
    merged,
    perplexity: { float, int8, int4 },
    tuned: [before, after],
    written: text.decode(answer!),
  };
}
