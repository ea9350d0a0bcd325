/**
 * @file The page of `pnpm bench frames`: makes the first call of a transformer, and watches how long nothing else runs.
 */
import { compile, config, initWebGpu, warmup } from '@tessera/compile';
import {
  LayerNorm,
  Linear,
  Module,
  TransformerEncoder,
  TransformerEncoderLayer,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randint, randn } from '@tessera/tensor';
import { BlockWatch, type WatchedTime } from './block-watch.js';

/** A case of the benchmark, as the page's address says it. */
export interface FramesCase {
  readonly device: 'cpu' | 'wgpu';
  readonly use: 'forward' | 'training';
  readonly call: 'plain' | 'warmup';
  readonly layers: number;
}

/** What the page saw. */
export interface PageResult extends WatchedTime {
  /** Milliseconds until the result is there. */
  readonly totalMs: number;
  /** Of them, until the call gave its promise: the function's own JavaScript, which nothing can cut. */
  readonly captureMs: number;
  /** When the call was made, by the page's clock. */
  readonly calledAt: number;
  /** Milliseconds of the second call, which finds the code. */
  readonly secondMs: number;
  readonly adapter: string | null;
}

const [BATCH, TOKENS, WIDTH, CLASSES] = [2, 16, 64, 64];

class Classifier extends Module {
  readonly encoder: TransformerEncoder;
  readonly head = new Linear(WIDTH, CLASSES);

  constructor(layers: number) {
    super();
    const layer = new TransformerEncoderLayer(WIDTH, 4, {
      dimFeedforward: 4 * WIDTH,
      activation: 'gelu',
      batchFirst: true,
      normFirst: true,
      dropout: 0,
    });
    this.encoder = new TransformerEncoder(layer, layers, new LayerNorm([WIDTH]));
  }

  override forward(x: Tensor): Tensor {
    return this.head.call(this.encoder.call(x) as Tensor);
  }
}

type Step = (x: Tensor, labels: Tensor) => Tensor;

/** The function that is compiled. */
function program({ use, device, layers }: FramesCase): Step {
  manualSeed(0);
  const model = new Classifier(layers);
  model.to(device);
  if (use === 'forward') {
    model.eval();
    return (x) => noGrad(() => model.call(x) as Tensor);
  }
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  return (x, labels) => {
    optimizer.zeroGrad();
    const scores = model.call(x) as Tensor;
    const loss = F.crossEntropy(scores.flatten(0, 1), labels.flatten());
    loss.backward();
    optimizer.step();
    return loss;
  };
}

async function measure(wanted: FramesCase): Promise<PageResult> {
  const gpu = wanted.device === 'wgpu' ? await initWebGpu() : null;
  // One thread: starting others is no part of compiling.
  config.set({ 'cpu.threads': 1 });
  const step = compile(program(wanted));
  const x = randn([BATCH, TOKENS, WIDTH], { device: wanted.device });
  const labels = randint(0, CLASSES, [BATCH, TOKENS], { device: wanted.device });
  await gpu?.synchronize();
  const watch = await BlockWatch.begin();
  const start = performance.now();
  const result = wanted.call === 'plain' ? step(x, labels) : warmup(step, x, labels);
  const captureMs = performance.now() - start;
  const value = await result;
  await value.toArray();
  const totalMs = performance.now() - start;
  const watched = await watch.end();
  const again = performance.now();
  await step(x, labels).toArray();
  const secondMs = performance.now() - again;
  return {
    totalMs,
    captureMs,
    calledAt: start,
    secondMs,
    adapter: gpu?.adapterName ?? null,
    ...watched,
  };
}

const asked = Object.fromEntries(new URLSearchParams(location.search));
const answer = await measure({ ...asked, layers: Number(asked.layers) } as FramesCase).catch(
  (error: unknown) => ({ error: String(error) }),
);
Object.assign(globalThis, { tesseraResult: answer });
