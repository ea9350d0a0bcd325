/**
 * @file Public API of `@tessera/nn`.
 */
export { GradScaler, type GradScalerOptions, type GradScalerStateDict } from './amp/grad-scaler.js';
export { Parameter } from './parameter.js';
export { Module, type TensorModule } from './module/module.js';
export { cloneModule } from './module/clone-module.js';
export type {
  BackwardHook,
  BackwardPreHook,
  ForwardHook,
  ForwardPreHook,
  HookGradients,
  HookHandle,
  HookOptions,
  IncompatibleKeys,
  LoadStateDictHook,
  StateDictHook,
  StateDictPreHook,
} from './module/hooks.js';
export { isModuleState } from './module/module-state.js';
export type { LoadReport, StateDict } from './module/state-dict.js';

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

export { Conv1d, Conv2d, type ConvModuleOptions } from './modules/conv.js';
export {
  AdaptiveAvgPool2d,
  AvgPool2d,
  type AvgPool2dOptions,
  MaxPool2d,
  type MaxPool2dOptions,
} from './modules/pooling.js';
export { Embedding, type EmbeddingOptions } from './modules/embedding.js';
export { Dropout } from './modules/dropout.js';
export { BatchNorm1d, BatchNorm2d, type BatchNormModuleOptions } from './modules/batch-norm.js';
export {
  GroupNorm,
  type GroupNormOptions,
  LayerNorm,
  type LayerNormModuleOptions,
  RMSNorm,
  type RMSNormOptions,
} from './modules/norm.js';

// Recurrent networks
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

// Gradients
export { type ClipGradNormOptions, clipGradNorm_, clipGradValue_ } from './clip-grad.js';

// Namespaces
import * as functional from './functional/index.js';
import * as init from './init/index.js';
import * as lrScheduler from './lr-scheduler/index.js';
import * as optim from './optim/index.js';

export { functional, init, lrScheduler, optim };

// Data
export { DataLoader, type DataLoaderOptions } from './data/data-loader.js';
export { type Collated, defaultCollate } from './data/collate.js';
export { type Dataset, type IterableDataset, Subset, TensorDataset } from './data/dataset.js';
export { type Sampler, randomSampler, sequentialSampler } from './data/sampler.js';
export type { WorkerOptions } from './data/worker-pool.js';
