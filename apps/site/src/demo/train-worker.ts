/**
 * @file The worker of the start page: trains a digit classifier with the whole step compiled, and reports every step.
 */
import { compile, explain } from '@tessera/compile';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad } from '@tessera/tensor';
import { type DigitSet, loadDigits } from './digit-data.js';
import type { DemoMessage, DemoRequest, SeenDigit } from './messages.js';

const BATCH = 64;
/** Digits that the page shows. */
const SHOWN = 24;

const tell = (message: DemoMessage): void => postMessage(message);

function test(model: Sequential, set: DigitSet): void {
  model.eval();
  const predicted = noGrad(() =>
    (model.call(set.images) as Tensor).argmax(1),
  ).toArray() as number[];
  model.train();
  const right = predicted.filter((value, i) => value === set.answers[i]).length;
  const digits = predicted.slice(0, SHOWN).map((value, i): SeenDigit => ({
    pixels: set.pixels.slice(i * 64, (i + 1) * 64),
    label: set.answers[i]!,
    predicted: value,
  }));
  tell({ kind: 'tested', accuracy: right / set.size, digits });
}

async function run({ data, epochs }: DemoRequest): Promise<void> {
  const digits = await loadDigits(data);
  manualSeed(0);
  const model = new Sequential(new Linear(64, 128), new ReLU(), new Linear(128, 10));
  const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-3 });
  const trainStep = compile((images: Tensor, labels: Tensor): Tensor => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(images) as Tensor, labels);
    loss.backward();
    optimizer.step();
    return loss;
  });
  const { train } = digits;
  const parameters = [...model.parameters()].reduce((sum, p) => sum + p.numel, 0);
  tell({ kind: 'loaded', examples: train.size, parameters });
  let step = 0;
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let at = 0; at + BATCH <= train.size; at += BATCH) {
      const start = performance.now();
      const images = train.images.narrow(0, at, BATCH);
      const loss = trainStep(images, train.labels.narrow(0, at, BATCH)).item() as number;
      tell({ kind: 'step', step: step++, loss, ms: performance.now() - start });
    }
    test(model, digits.test);
  }
  const told = explain(trainStep)(
    train.images.narrow(0, 0, BATCH),
    train.labels.narrow(0, 0, BATCH),
  );
  tell({ kind: 'done', graphs: told.graphCount, kernels: told.kernelCount });
}

addEventListener('message', ({ data }: MessageEvent<DemoRequest>) => {
  run(data).catch((error: unknown) => tell({ kind: 'failed', text: String(error) }));
});
