/**
 * @file Training: the optimizer with its groups, the schedule, one step.
 */
import { clipGradNorm_, functional as F, lrScheduler, optim } from '@tessera/nn';
import { type Tensor, noGrad } from '@tessera/tensor';
import type { Training } from './checkpoint.js';
import type { GPT } from './model.js';
import { type Text, getBatch } from './text.js';

/** How to train. */
export interface TrainConfig {
  batchSize: number;
  /** Length of the schedule; training may stop earlier. */
  maxSteps: number;
  warmupSteps: number;
  lr: number;
  minLr: number;
  weightDecay: number;
  gradClip: number;
}

/** AdamW that decays matrices only, with a warm-up and then a cosine. */
export function configure(model: GPT, config: TrainConfig): Training {
  const params = model.parameters().filter((p) => p.requiresGrad);
  const decay = params.filter((p) => p.ndim >= 2);
  const noDecay = params.filter((p) => p.ndim < 2);
  const optimizer = new optim.AdamW(
    [
      { params: decay, weightDecay: config.weightDecay },
      { params: noDecay, weightDecay: 0 },
    ],
    { lr: config.lr, betas: [0.9, 0.95] },
  );
  const warmup = new lrScheduler.LinearLR(optimizer, {
    startFactor: 0.01,
    totalIters: config.warmupSteps,
  });
  const cosine = new lrScheduler.CosineAnnealingLR(optimizer, {
    tMax: config.maxSteps - config.warmupSteps,
    etaMin: config.minLr,
  });
  const scheduler = new lrScheduler.SequentialLR(optimizer, {
    schedulers: [warmup, cosine],
    milestones: [config.warmupSteps],
  });
  return { model, optimizer, scheduler };
}

/** Forward, backward, clipping, update: eager as it is, or handed to `compile` whole. */
export function trainingStep(
  { model, optimizer }: Training,
  { gradClip }: TrainConfig,
): (x: Tensor, y: Tensor) => Tensor {
  return function trainStep(x, y) {
    const logits = model.call(x);
    const loss = F.crossEntropy(logits.flatten(0, 1), y.flatten());
    loss.backward();
    clipGradNorm_(model.parameters(), gradClip);
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

/** Mean loss over a few batches of the part that is not trained on. */
export function evaluate(model: GPT, text: Text, batchSize: number, batches = 4): number {
  model.eval();
  let total = 0;
  noGrad(() => {
    for (let i = 0; i < batches; i++) {
      const [x, y] = getBatch(text.val, batchSize, model.config.blockSize);
      total += F.crossEntropy(model.call(x).flatten(0, 1), y.flatten()).item();
    }
  });
  model.train();
  return total / batches;
}
