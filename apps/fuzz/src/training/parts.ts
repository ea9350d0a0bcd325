/**
 * @file What training loops are put together from: layers, optimizers, schedules and losses, each a text.
 */
import type { Dice } from '../dice.js';

const INNER = [
  'new nn.Linear(4, 4)',
  'new nn.Sequential(new nn.Linear(4, 6), new nn.ReLU(), new nn.Linear(6, 4))',
  'new nn.BatchNorm1d(4)',
  'new nn.LayerNorm([4])',
  'new Centered(4)',
  'new nn.Dropout(0.25)',
];

/** Layers of [n, 4] → [n, 4]; the first are drawn more often. */
const LAYERS = [
  ...INNER,
  ...INNER,
  'new nn.Tanh()',
  'new nn.GELU()',
  'new nn.PReLU()',
  'new Wavy()',
  'new Tied(4)',
  'new nn.Linear(4, 4, { bias: false })',
  'new nn.BatchNorm1d(4, { momentum: null })',
  'new nn.BatchNorm1d(4, { affine: false })',
  'new nn.BatchNorm1d(4, { trackRunningStats: false })',
  'new nn.RMSNorm([4])',
  'new nn.GroupNorm(2, 4)',
  'new nn.AlphaDropout(0.25)',
  "new Recurrent('LSTM', 4)",
  "new Recurrent('GRU', 4)",
  "new Recurrent('RNN', 4)",
  'new Attentive(4)',
  'new Looked(4)',
  'new Filtered()',
  'P.weightNorm(new nn.Linear(4, 4))',
  'P.spectralNorm(new nn.Linear(4, 4))',
  'P.orthogonal(new nn.Linear(4, 4))',
];

/** Layers that write to buffers. */
const WRITING = /BatchNorm|Centered|spectralNorm/;

/** A random layer. */
export function randomLayer(dice: Dice, wgpu: boolean): string {
  // WebGPU has no exponential of a matrix.
  const layer = dice.pick(wgpu ? LAYERS.filter((text) => !text.includes('orthogonal')) : LAYERS);
  const roll = dice.next();
  if (roll < 0.12) return `new Residual(${layer})`;
  // What a checkpointed region writes, eager code writes twice.
  return roll < 0.22 && !WRITING.test(layer) ? `new Residual(${layer}, true)` : layer;
}

/** Optimizers: class, learning rate, and options of which some are drawn. */
const OPTIMIZERS: readonly (readonly [string, number, readonly string[]])[] = [
  ['SGD', 0.1, ['momentum: 0.9', 'weightDecay: 0.01', 'maximize: true', 'dampening: 0.1']],
  ['SGD', 0.1, ['momentum: 0.9, nesterov: true', 'weightDecay: 0.01']],
  ['Adam', 0.05, ['weightDecay: 0.01', 'amsgrad: true', 'betas: [0.8, 0.9]', 'maximize: true']],
  ['AdamW', 0.05, ['weightDecay: 0.1', 'amsgrad: true', 'eps: 0.001']],
  ['RMSprop', 0.02, ['momentum: 0.9', 'centered: true', 'weightDecay: 0.01', 'alpha: 0.9']],
  ['Adagrad', 0.1, ['lrDecay: 0.1', 'weightDecay: 0.01', 'initialAccumulatorValue: 0.1']],
  ['Adadelta', 1, ['rho: 0.8', 'weightDecay: 0.01']],
  ['Adamax', 0.05, ['weightDecay: 0.01', 'betas: [0.8, 0.9]']],
  ['NAdam', 0.05, ['weightDecay: 0.01', 'decoupledWeightDecay: true', 'momentumDecay: 0.01']],
  ['RAdam', 0.05, ['weightDecay: 0.01', 'decoupledWeightDecay: true']],
  ['ASGD', 0.05, ['weightDecay: 0.01', 't0: 2', 'lambd: 0.01']],
  ['Rprop', 0.02, ['stepSizes: [0.0001, 0.5]', 'etas: [0.4, 1.3]']],
  ['Adafactor', 0.05, ['weightDecay: 0.01', 'd: 1.5', 'beta2Decay: -0.5']],
];

/** What an optimizer is made of: `new optim.${make}` with the parameters in between. */
export interface OptimizerText {
  readonly name: string;
  /** Text of an optimizer of all parameters of a model. */
  readonly of: (model: string) => string;
}

/** A random optimizer, with groups or without. */
export function randomOptimizer(dice: Dice, groups: boolean = dice.chance(0.3)): OptimizerText {
  const [name, rate, all] = dice.pick(OPTIMIZERS);
  const options = all.filter(() => dice.chance(0.35));
  const lr = dice.chance(0.08) ? `T.tensor(${rate})` : `${rate}`;
  const text = `{ ${[`lr: ${lr}`, ...options].join(', ')} }`;
  const decay = name === 'Rprop' ? 'lr: 0.05' : 'weightDecay: 0';
  return {
    name,
    of: (model) => {
      const params = groups
        ? `[{ params: ${model}.parameters().filter((p) => p.ndim > 1) }, { params: ${model}.parameters().filter((p) => p.ndim <= 1), ${decay} }]`
        : `${model}.parameters()`;
      return `new optim.${name}(${params}, ${text})`;
    },
  };
}

/** Schedules of `opt`. */
export const SCHEDULES = [
  'new schedules.StepLR(opt, { stepSize: 2, gamma: 0.5 })',
  'new schedules.ExponentialLR(opt, { gamma: 0.8 })',
  'new schedules.CosineAnnealingLR(opt, { tMax: 4 })',
  'new schedules.LinearLR(opt, { startFactor: 0.25, totalIters: 3 })',
  'new schedules.LambdaLR(opt, (epoch) => 1 / (1 + epoch))',
  'new schedules.MultiStepLR(opt, { milestones: [1, 3], gamma: 0.3 })',
  'new schedules.CosineAnnealingWarmRestarts(opt, { t0: 2 })',
  'new schedules.PolynomialLR(opt, { totalIters: 5, power: 2 })',
  'new schedules.OneCycleLR(opt, { maxLr: 0.1, totalSteps: 40, cycleMomentum: false })',
  'new schedules.SequentialLR(opt, { schedulers: [new schedules.ConstantLR(opt, { factor: 0.1, totalIters: 2 }), new schedules.ExponentialLR(opt, { gamma: 0.9 })], milestones: [2] })',
] as const;

/** Losses of what a model gives and labels or targets. */
export const LOSSES: readonly (readonly ['labels' | 'targets', string])[] = [
  ['labels', 'F.crossEntropy(out, y)'],
  ['labels', 'F.crossEntropy(out, y, { labelSmoothing: 0.1 })'],
  ['labels', 'F.nllLoss(F.logSoftmax(out, -1), y)'],
  ['targets', 'F.mseLoss(out, y)'],
  ['targets', 'F.smoothL1Loss(out, y)'],
  ['targets', "F.huberLoss(out, y, { delta: 0.5, reduction: 'sum' })"],
  ['targets', 'F.binaryCrossEntropyWithLogits(out, y.sigmoid())'],
  ['targets', 'out.sub(y).square().mean(-1).mean()'],
];
