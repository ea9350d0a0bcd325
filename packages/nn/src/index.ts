/**
 * @file Public API of `@tessera/nn`.
 */
export { GradScaler, type GradScalerOptions, type GradScalerStateDict } from './amp/grad-scaler.js';
export { Parameter, type ParameterOptions } from './parameter.js';
export { Module, type TensorModule } from './module/module.js';
export type { ZeroGradOptions } from './module/clear-grad.js';
export { cloneModule } from './module/clone-module.js';
export {
  type FunctionalCallOptions,
  functionalCall,
  stackModuleState,
} from './module/functional-call.js';
export type {
  BackwardHook,
  BackwardPreHook,
  ForwardHook,
  ForwardPreHook,
  HookArguments,
  HookGradients,
  HookHandle,
  HookOptions,
  IncompatibleKeys,
  LoadStateDictHook,
  StateDictHook,
  StateDictPreHook,
} from './module/hooks.js';
export { isModuleState } from './module/module-state.js';
export type { LoadReport, LoadStateOptions, StateDict } from './module/state-dict.js';
export { skipInit } from './module/skip-init.js';

// Containers
export { Sequential } from './modules/sequential.js';
export { ModuleList } from './modules/module-list.js';
export { ModuleDict } from './modules/module-dict.js';
export { ParameterList } from './modules/parameter-list.js';
export { ParameterDict } from './modules/parameter-dict.js';

// Layers
export type { FactoryOptions } from './modules/factory-options.js';
export { Linear, type LinearOptions } from './modules/linear.js';
export {
  ELU,
  GELU,
  Hardswish,
  type InplaceOptions,
  LeakyReLU,
  LogSoftmax,
  Mish,
  ReLU,
  SiLU,
  Sigmoid,
  Softmax,
  Softplus,
  Tanh,
} from './modules/activation.js';
export { Flatten, Identity, Unflatten } from './modules/reshaping.js';

export {
  CELU,
  LogSigmoid,
  PReLU,
  type PReLUOptions,
  SELU,
  Softsign,
  Tanhshrink,
} from './modules/activation-curved.js';
export {
  Hardshrink,
  Hardsigmoid,
  Hardtanh,
  RReLU,
  ReLU6,
  Softshrink,
  Threshold,
} from './modules/activation-piecewise.js';
export { GLU, Softmax2d, Softmin } from './modules/activation-along.js';
export { Bilinear } from './modules/bilinear.js';

export {
  Conv1d,
  Conv2d,
  Conv3d,
  type ConvModuleOptions,
  type PaddingMode,
} from './modules/conv.js';
export {
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvTransposeModuleOptions,
} from './modules/conv-transpose.js';
export { Fold, Unfold } from './modules/folding.js';
export {
  MaxPool1d,
  MaxPool2d,
  MaxPool3d,
  type MaxPoolModuleOptions,
  type Pooled,
} from './modules/pooling.js';
export {
  AvgPool1d,
  AvgPool2d,
  AvgPool3d,
  type AvgPoolModuleOptions,
} from './modules/pooling-average.js';
export {
  AdaptiveAvgPool1d,
  AdaptiveAvgPool2d,
  AdaptiveAvgPool3d,
  AdaptiveMaxPool1d,
  AdaptiveMaxPool2d,
  AdaptiveMaxPool3d,
  type AdaptiveMaxPoolOptions,
  type AdaptiveSize,
} from './modules/pooling-adaptive.js';
export { LPPool1d, LPPool2d, LPPool3d } from './modules/pooling-lp.js';
export {
  ChannelShuffle,
  PixelShuffle,
  PixelUnshuffle,
  Upsample,
  type UpsampleModuleOptions,
  UpsamplingBilinear2d,
  UpsamplingNearest2d,
} from './modules/resizing.js';
export {
  CircularPad1d,
  CircularPad2d,
  CircularPad3d,
  ConstantPad1d,
  ConstantPad2d,
  ConstantPad3d,
  type Padding,
  ReflectionPad1d,
  ReflectionPad2d,
  ReflectionPad3d,
  ReplicationPad1d,
  ReplicationPad2d,
  ReplicationPad3d,
  ZeroPad1d,
  ZeroPad2d,
  ZeroPad3d,
} from './modules/padding.js';
export { Embedding, type EmbeddingOptions } from './modules/embedding.js';
export { EmbeddingBag, type EmbeddingBagModuleOptions } from './modules/embedding-bag.js';
export { CosineSimilarity, PairwiseDistance } from './modules/distance.js';
export {
  AlphaDropout,
  Dropout,
  Dropout1d,
  Dropout2d,
  Dropout3d,
  FeatureAlphaDropout,
} from './modules/dropout.js';
export {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNormModuleOptions,
} from './modules/batch-norm.js';
export {
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
  type InstanceNormModuleOptions,
} from './modules/instance-norm.js';
export { LocalResponseNorm } from './modules/local-response-norm.js';
export type { LocalResponseNormOptions } from './functional/local-response-norm.js';
export {
  GroupNorm,
  type GroupNormOptions,
  LayerNorm,
  type LayerNormModuleOptions,
  RMSNorm,
  type RMSNormOptions,
} from './modules/norm.js';

export {
  AdaptiveLogSoftmaxWithLoss,
  type AdaptiveLogSoftmaxOptions,
  type AdaptiveLogSoftmaxResult,
} from './modules/adaptive-log-softmax.js';
export {
  LazyConv1d,
  LazyConv2d,
  LazyConv3d,
  LazyConvTranspose1d,
  LazyConvTranspose2d,
  LazyConvTranspose3d,
  LazyLinear,
} from './modules/lazy.js';
export {
  LazyBatchNorm1d,
  LazyBatchNorm2d,
  LazyBatchNorm3d,
  LazyInstanceNorm1d,
  LazyInstanceNorm2d,
  LazyInstanceNorm3d,
} from './modules/lazy-norm.js';
export { hasUninitializedParams } from './modules/lazy-base.js';
export {
  MaxUnpool1d,
  MaxUnpool2d,
  MaxUnpool3d,
  type MaxUnpoolModuleOptions,
} from './modules/unpooling.js';
export {
  FractionalMaxPool2d,
  FractionalMaxPool3d,
  type FractionalMaxPoolModuleOptions,
} from './modules/pooling-fractional.js';

// Recurrent networks
export {
  type PackOptions,
  type PackedSequence,
  type PadOptions,
  type PadPackedOptions,
  isPackedSequence,
  packPaddedSequence,
  packSequence,
  padPackedSequence,
  padSequence,
  unpackSequence,
  unpadSequence,
} from './modules/packed-sequence.js';
export type { RecurrentOptions } from './modules/rnn-base.js';
export { GRU, LSTM, type LSTMOptions, RNN, type RNNOptions } from './modules/rnn.js';
export {
  type CellOptions,
  GRUCell,
  LSTMCell,
  RNNCell,
  type RNNCellOptions,
} from './modules/rnn-cell.js';

// Attention
export {
  type AttentionCallOptions,
  MultiheadAttention,
  type MultiheadAttentionOptions,
} from './modules/multihead-attention.js';
export {
  type DecoderMasks,
  type EncoderLayerMasks,
  type EncoderMasks,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
} from './modules/transformer-layer.js';
export {
  Transformer,
  TransformerDecoder,
  TransformerEncoder,
  type TransformerMasks,
  type TransformerOptions,
} from './modules/transformer.js';

// Losses
export {
  BCELoss,
  BCEWithLogitsLoss,
  type BCEWithLogitsLossOptions,
  CrossEntropyLoss,
  type CrossEntropyLossOptions,
  L1Loss,
  type LossOptions,
  MSELoss,
  NLLLoss,
  type NLLLossModuleOptions,
} from './modules/loss.js';

export {
  LinearCrossEntropyLoss,
  type LinearCrossEntropyLossOptions,
} from './modules/loss-linear.js';

export {
  GaussianNLLLoss,
  HuberLoss,
  KLDivLoss,
  PoissonNLLLoss,
  SmoothL1Loss,
} from './modules/loss-distribution.js';
export {
  CosineEmbeddingLoss,
  type DistanceModule,
  HingeEmbeddingLoss,
  MarginRankingLoss,
  MultiLabelMarginLoss,
  MultiLabelSoftMarginLoss,
  MultiMarginLoss,
  SoftMarginLoss,
  TripletMarginLoss,
  TripletMarginWithDistanceLoss,
  type TripletMarginWithDistanceLossModuleOptions,
} from './modules/loss-margin.js';
export { CTCLoss } from './modules/loss-ctc.js';

// Gradients
export {
  type ClipGradNormOptions,
  clipGradNorm_,
  clipGradValue_,
  clipGradsWithNorm_,
  getTotalNorm,
} from './clip-grad.js';
export { fuseConvBnEval, fuseLinearBnEval } from './fuse-batch-norm.js';
export { parametersToVector, vectorToParameters } from './parameters-to-vector.js';

// Namespaces
import * as functional from './functional/index.js';
import * as init from './init/index.js';
import * as lrScheduler from './lr-scheduler/index.js';
import * as optim from './optim/index.js';
import * as parametrize from './parametrize/index.js';
import * as prune from './prune/index.js';

export { functional, init, lrScheduler, optim, parametrize, prune };

// Data
export { DataLoader, type DataLoaderOptions } from './data/data-loader.js';
export { type Collated, defaultCollate } from './data/collate.js';
export {
  ConcatDataset,
  type Dataset,
  type IterableDataset,
  Subset,
  TensorDataset,
  randomSplit,
} from './data/dataset.js';
export {
  type Sampler,
  type WeightedSamplerOptions,
  randomSampler,
  sequentialSampler,
  weightedRandomSampler,
} from './data/sampler.js';
export type { WorkerOptions } from './data/worker-pool.js';
