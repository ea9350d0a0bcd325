/**
 * @file The `functional` namespace: layers without state, over tensor's operators.
 */
export {
  type AvgPoolOptions,
  type BatchNormOptions,
  type BinaryLossOptions,
  type ConvOptions,
  type CrossEntropyOptions,
  type GeluApproximation,
  type LayerNormOptions,
  type MaxPoolOptions,
  type NllLossOptions,
  type Reduction,
  avgPool1d,
  avgPool2d,
  batchNorm,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  conv1d,
  conv2d,
  crossEntropy,
  elu,
  gelu,
  groupNorm,
  hardsigmoid,
  hardswish,
  hardtanh,
  huberLoss,
  l1Loss,
  layerNorm,
  leakyRelu,
  linear,
  logSigmoid,
  logSoftmax,
  maxPool1d,
  maxPool2d,
  mish,
  mseLoss,
  nllLoss,
  oneHot,
  relu,
  relu6,
  rmsNorm,
  selu,
  sigmoid,
  silu,
  smoothL1Loss,
  softmax,
  softplus,
  tanh,
} from '@tessera/tensor';
export { adaptiveAvgPool2d } from './adaptive-pool.js';
export { type AttentionOptions, scaledDotProductAttention } from './attention.js';
export { dropout } from './dropout.js';
export { type EmbeddingLookupOptions, embedding } from './embedding.js';
export { type NormalizeOptions, normalize } from './normalize.js';
export { type PadOptions, pad } from './pad.js';
