/**
 * @file The `functional` namespace: layers without state, over tensor's operators.
 */
export {
  type GeluApproximation,
  elu,
  gelu,
  hardsigmoid,
  hardswish,
  hardtanh,
  leakyRelu,
  linear,
  logSigmoid,
  logSoftmax,
  mish,
  oneHot,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softmax,
  softplus,
  tanh,
  bilinear,
  celu,
  channelShuffle,
  glu,
  hardshrink,
  pad,
  pixelShuffle,
  pixelUnshuffle,
  prelu,
  softshrink,
  threshold,
  type PadMode,
} from '@tessera/tensor';
export {
  type AttentionOptions,
  type AvgPoolOptions,
  type BatchNormOptions,
  type BinaryLossOptions,
  type ConvOptions,
  type CrossEntropyOptions,
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
  groupNorm,
  huberLoss,
  l1Loss,
  layerNorm,
  maxPool1d,
  maxPool2d,
  mseLoss,
  nllLoss,
  rmsNorm,
  scaledDotProductAttention,
  smoothL1Loss,
  avgPool3d,
  conv3d,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  instanceNorm,
  marginRankingLoss,
  maxPool1dWithIndices,
  maxPool2dWithIndices,
  maxPool3d,
  maxPool3dWithIndices,
  multiMarginLoss,
  multilabelMarginLoss,
  poissonNllLoss,
  softMarginLoss,
  tripletMarginLoss,
  type ConvTransposeOptions,
  type MarginLossOptions,
  type MultiMarginLossOptions,
  type PoissonNllLossOptions,
  type TripletMarginLossOptions,
} from '@tessera/tensor/internal';
export { softmin, softsign, tanhshrink } from './activations.js';
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool1dWithIndices,
  adaptiveMaxPool2d,
  adaptiveMaxPool2dWithIndices,
  adaptiveMaxPool3d,
  adaptiveMaxPool3dWithIndices,
} from './adaptive-pool.js';
export { type CtcLossOptions, ctcLoss } from './ctc-loss.js';
export {
  type CosineSimilarityOptions,
  type PairwiseDistanceOptions,
  type PdistOptions,
  cosineSimilarity,
  pairwiseDistance,
  pdist,
} from './distance.js';
export {
  type DropoutOptions,
  alphaDropout,
  dropout,
  dropout1d,
  dropout2d,
  dropout3d,
  featureAlphaDropout,
  featureDropout,
} from './dropout.js';
export {
  type EmbeddingBagLookupOptions,
  type EmbeddingLookupOptions,
  embedding,
  embeddingBag,
} from './embedding.js';
export { type FoldOptions, fold, unfold } from './fold.js';
export {
  type AffineGridOptions,
  type GridSampleOptions,
  affineGrid,
  gridSample,
} from './grid-sample.js';
export {
  type FractionalMaxPoolOptions,
  fractionalMaxPool2d,
  fractionalMaxPool2dWithIndices,
  fractionalMaxPool3d,
  fractionalMaxPool3dWithIndices,
} from './fractional-max-pool.js';
export { type GumbelSoftmaxOptions, gumbelSoftmax } from './gumbel-softmax.js';
export { type InterpolateOptions, type InterpolationMode, interpolate } from './interpolate.js';
export {
  type DistanceFunction,
  type GaussianNllLossOptions,
  type KlDivLossOptions,
  type MultilabelSoftMarginLossOptions,
  type TripletMarginWithDistanceLossOptions,
  gaussianNllLoss,
  klDiv,
  multilabelSoftMarginLoss,
  tripletMarginWithDistanceLoss,
} from './losses.js';
export { type LpPoolOptions, lpPool1d, lpPool2d, lpPool3d } from './lp-pool.js';
export { type MaxUnpoolOptions, maxUnpool1d, maxUnpool2d, maxUnpool3d } from './max-unpool.js';
export { type NormalizeOptions, normalize } from './normalize.js';
export { type MultiHeadAttentionOptions, multiHeadAttention } from './multi-head-attention.js';
export { type LocalResponseNormOptions, localResponseNorm } from './local-response-norm.js';
export { type RReLUOptions, rrelu } from './rrelu.js';
export { type LinearCrossEntropyOptions, linearCrossEntropy } from './linear-cross-entropy.js';
