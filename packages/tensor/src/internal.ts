/**
 * @file `@tessera/tensor/internal`: what Tessera's packages need besides the public API. Any release may change it.
 */
export { autocastKey, withAutocastSettings } from './autocast/autocast-state.js';
export { deviceRuntime } from './device.js';

// Tensors
export { checkTensors } from './check-tensors.js';
export { checkPromise } from './op/check-promise.js';
export { type MadeAs, type PendingValue, TensorBase } from './tensor-base.js';
export {
  emptyContiguous,
  emptyFromMeta,
  emptyOnMemory,
  fakeFromMeta,
  makeTensor,
  storageBytes,
  withFakeTensors,
} from './tensor-factory.js';
export { formatStrides } from './memory-format.js';
export { kindType, numberType, promotedType } from './type-promotion.js';
export {
  contiguousStrides,
  formatSizes,
  hasInternalOverlap,
  inferShape,
  isContiguous,
  numelOf,
  reducedSizes,
  sameNumbers,
  storageExtent,
  viewStrides,
  wrapDim,
  wrapDims,
} from './shape.js';
export { readNumbers, roundTo, writeNumbers } from './kernels/elements.js';
export { type ValueCheck, indexCheck, valueError } from './kernels/value-check.js';
export { besselI0e, besselI1e } from './kernels/bessel-functions.js';
export { erf, floorQuotient, floorRemainder, roundHalfEven } from './kernels/special-functions.js';
export { type FftScale, fftFactor } from './kernels/fft-kernel.js';
export { unitRoots } from './kernels/fft-plan.js';
export { wholePower, wholly } from './kernels/integer-arithmetic.js';
export { LARGEST_FINITE, nextAfterIn } from './kernels/float-parts.js';
export { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './kernels/float16.js';
// Files
export { readWhole, sourceBelow } from './io/read-whole.js';
export { resolveSource } from './io/byte-source.js';
export type { ByteFile } from './io/byte-file.js';
export { Cursor } from './io/cursor.js';
export type { BlockFormat } from './io/decode-elements.js';
export { type BlockParts, type BlockTensor, loadBlocks } from './io/load-blocks.js';
export { reading, startLoading } from './io/loading.js';

// Memory
export { Snapshot, type SnapshotBudget } from './memory/snapshot.js';
export { type StorageKeeper, type StorageState } from './memory/storage.js';
export {
  describeStorage,
  largestStorages,
  memoryReport,
  reclaimNow,
  storageOn,
  withoutForcedCollection,
} from './memory/reclaim.js';
export { describeHolders, formatBytes, memoryHints } from './heap/out-of-memory.js';
export { forLater } from './memory/for-later.js';
export { inLibraryScope, outsideScopes } from './memory/library-scope.js';
export { show } from './memory/show.js';

// Operators
export { allOps, defineOp, findOp, getOp } from './op/op-overload.js';
export { findAnyOp } from './operators.js';
export { functionalForm } from './op/functional-form.js';
export { type IsKept, isKeptWhole, keepWhole } from './op/kept-whole.js';
export { type InplaceOf, defineInplace } from './op/inplace.js';
export type {
  GradResult,
  GradsOf,
  OnlyGradsOf,
  OpRecord,
  OpTag,
  SchemaWords,
  ViewMeta,
  Vjp,
  VjpContext,
} from './op/op-record.js';
export type { SchemaArgs, SchemaFunction, SchemaKernel, SchemaResult } from './op/schema-types.js';
export { unreadable } from './dispatch/unreadable-now.js';
export { dispatchBelowAutograd, dispatchBelowPreDispatch } from './dispatch/dispatcher.js';
export { isTraced } from './dispatch/is-traced.js';
export { outputMetas } from './dispatch/kernels.js';
export { untraced } from './dispatch/untraced.js';
export {
  type KernelProvider,
  kernelProvider,
  registerKernelProvider,
} from './dispatch/kernel-provider.js';
export {
  type BackwardCall,
  type ModeState,
  type PreDispatchMode,
  type Resume,
  activeMode,
  modes,
  withDispatchModes,
  withPreDispatchMode,
  withoutModes,
} from './dispatch/modes.js';

// Tracing protocols, autograd, random numbers
export { isTracked, trackClass } from './protocols/track.js';
export { runningModules } from './protocols/running-modules.js';
export { type RegionInputs, type RegionNumber, trustedRegion } from './protocols/trusted-region.js';
export { autogradGrad, autogradGradOuter, autogradGradTwice } from './autograd/autograd-grad-op.js';
export { programLeaf } from './autograd/leaf-op.js';
export { gradMode } from './autograd/grad-mode.js';
export { runBackward } from './autograd/engine.js';
export { type Edge, type GradMeta, metaOf, peekSequenceNr } from './autograd/grad-node.js';
export { autogradMeta } from './autograd/autograd-meta.js';
export {
  dropGradient,
  gradientOf,
  releaseUnseen,
  setOwnGradient,
  zeroGradient,
} from './autograd/own-gradient.js';
export { backwardTwice, modifiedSince } from './autograd/backward-twice.js';
export {
  AccumulateGrad,
  gradientStrides,
  holdGradient,
  obeysLayout,
} from './autograd/accumulate-grad.js';
export {
  gradEdge,
  gradFnOf,
  hasGradientHooks,
  isHistoryRefused,
  nodesBehind,
  noteWrittenSince,
  requiresGrad,
  setHistory,
  wasWrittenSince,
} from './autograd/history.js';
export {
  type GradientListener,
  announceCaptured,
  setGradientListener,
} from './autograd/gradient-listener.js';
export { EndOfGraph, backwardOutsideGraph, outsideGraphOp } from './autograd/outside-graph.js';
export { type Like, type TensorOrList } from './autograd/functional.js';
export { type CheckpointStep, checkpointWith } from './autograd/activation-checkpoint.js';
export { type HostCode, hostCall, tracedHostCalls } from './autograd/host-call.js';
export { anomaly } from './autograd/anomaly-state.js';
export { FunctionNode } from './autograd/function-node.js';
export { SavedTensor } from './autograd/saved-tensor.js';
export { savedTensorHooks } from './autograd/saved-tensor-hooks.js';
export { currentBackwardNode } from './autograd/current-backward-node.js';
export { GENERATOR_MEMORY, rngState, reserveOffsets, restoreRng } from './rng/generator.js';
export { philox, philoxNormal, philoxUniform } from './rng/philox.js';

// Operator functions: arithmetic and functions of elements
export { add_, mul_, neg_, sub_ } from './ops/pointwise/arithmetic.js';
export { rsub } from './ops/pointwise/rsub.js';
export {
  div_,
  floorDivide_,
  fmod_,
  remainder_,
  trueDivide,
  trueDivide_,
} from './ops/pointwise/division.js';
export { addcdiv_, addcmul_, lerp_ } from './ops/pointwise/fused-arithmetic.js';
export {
  exp2_,
  exp_,
  expm1_,
  log10_,
  log1p_,
  log2_,
  log_,
  reciprocal_,
  rsqrt_,
  sqrt_,
} from './ops/pointwise/exponential.js';
export { floatPower_, pow_, square_ } from './ops/pointwise/power.js';
export {
  atan_,
  cos_,
  erf_,
  erfc_,
  sigmoid_,
  sin_,
  tan_,
  tanh_,
} from './ops/pointwise/trigonometric.js';
export { abs_, ceil_, floor_, frac_, round_, sign_, trunc_ } from './ops/pointwise/rounding.js';
export { clampMax_, clampMin_, clamp_ } from './ops/pointwise/extremum.js';
export { eq_, ge_, gt_, le_, lt_, ne_ } from './ops/pointwise/comparison.js';
export {
  bitwiseAnd_,
  bitwiseNot_,
  bitwiseOr_,
  bitwiseXor_,
  logicalAnd_,
  logicalNot_,
  logicalOr_,
  logicalXor_,
} from './ops/pointwise/logical.js';
export {
  acos_,
  acosh_,
  asin_,
  asinh_,
  atan2_,
  atanh_,
  cosh_,
  deg2rad_,
  hypot_,
  rad2deg_,
  sinc_,
  sinh_,
} from './ops/pointwise/trigonometric-inverse.js';
export { digamma_, erfinv_, i0_, lgamma_ } from './ops/pointwise/special.js';
export { logit_, xlogy_ } from './ops/pointwise/log-domain.js';
export { copysign_, ldexp_, nanToNum_, nextafter_, sgn_ } from './ops/pointwise/float-parts.js';
export { bitwiseLeftShift_, bitwiseRightShift_, gcd_, lcm_ } from './ops/pointwise/integer.js';
export { heaviside_ } from './ops/pointwise/heaviside.js';
export { fill_, maskedFill_, zero_ } from './ops/pointwise/fill.js';
export { type Binary, type TensorBinary, type Unary } from './op/op-functions.js';

// Activations
export {
  hardsigmoid_,
  hardswish_,
  hardtanh_,
  leakyRelu_,
  relu_,
  threshold_,
} from './ops/activation/activation.js';
export { celu_, elu_, gelu_, mish_, selu_, silu_ } from './ops/activation/smooth.js';
export { thresholdBackward } from './ops/activation/backward.js';

// Shapes and views
export { copy_, detach, toDevice, toDtype } from './ops/arrange/copy.js';
export { expandAs, mT, reshapeAs, viewAs } from './ops/view/dims.js';
export { asStridedScatter } from './ops/view/strided.js';
export { chunkCat } from './ops/arrange/join-stack.js';
export {
  aliasCopy,
  asStridedCopy,
  diagonalCopy,
  expandCopy,
  narrowCopy,
  permuteCopy,
  selectCopy,
  sliceCopy,
  splitCopy,
  squeezeCopy,
  tCopy,
  transposeCopy,
  unbindCopy,
  unfoldCopy,
  unsqueezeCopy,
  viewCopy,
} from './ops/view/copy.js';
export { asStrided_, detach_, squeeze_, t_, transpose_, unsqueeze_ } from './ops/view/inplace.js';
export { type AtLeast, H, T, mH } from './ops/view/rank.js';

// Reductions, scans, sorting
export { type ExtremumFunction, type ExtremumMethods } from './ops/reduction/extremum.js';
export type { BincountOptions } from './ops/reduction/bincount-options.js';
export { type HistcOptions, type HistogramOptions } from './ops/reduction/histogram.js';
export { cumprod_, cumsum_ } from './ops/scan/scan.js';
export { type MedianFunction, type MedianMethods } from './ops/order/order-statistic.js';
export { type UniqueMethods } from './ops/order/unique.js';
export { msort } from './ops/order/sort.js';

// Indexing
export { scatterAdd_, scatter_ } from './ops/indexing/scatter.js';
export { indexAdd_ } from './ops/indexing/select.js';
export { indexPut_ } from './ops/indexing/subscript.js';
export { nonzeroNumpy, nonzeroStatic } from './ops/indexing/nonzero.js';
export { indexCopy_, indexFill_, indexReduce_ } from './ops/indexing/write.js';
export { scatterReduce_ } from './ops/indexing/scatter-reduce.js';
export { maskedScatter_ } from './ops/indexing/masked-scatter.js';
export { put_ } from './ops/indexing/take.js';
export {
  type EmbeddingBagOptions,
  embeddingBag,
  embeddingRenorm_,
} from './ops/indexing/embedding-bag.js';
export { tril_, triu_ } from './ops/indexing/triangle.js';
export { constantPad } from './ops/resample/pad.js';
export { reflectionPad, replicationPad } from './ops/resample/pad-edge.js';

// Matrix products
export { addmm_, baddbmm_ } from './ops/matmul/matmul.js';
export { addbmm_, addmv_, addr_ } from './ops/matmul/added.js';
export { renorm_ } from './ops/matmul/similarity.js';
export { dequantizeInt4, dequantizeInt8 } from './ops/matmul/weight-only.js';
export { weightInt4packMm, weightInt8packMm } from './ops/matmul/weight-only.js';

// Attention and recurrent layers
export { type CellKind, type CellState, type StateWeights } from './ops/recurrent/cell.js';
export { GATES, recurrentStep } from './ops/recurrent/cell.js';
export { NEVER, ctcAlphas } from './ops/recurrent/ctc.js';
export { recurrentLayer } from './ops/recurrent/layer.js';
export { type AttentionOptions, scaledDotProductAttention } from './ops/attention/attention.js';

// Convolution, pooling, resizing, sampling, patches
export { convolution, convolutionOp } from './ops/convolution/convolution.js';
export {
  type ConvOptions,
  type ConvTransposeOptions,
  conv1d,
  conv2d,
  conv3d,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
} from './ops/convolution/composite.js';
export {
  type MaxPoolOptions,
  maxPool1d,
  maxPool1dWithIndices,
  maxPool2d,
  maxPool2dWithIndices,
  maxPool3d,
  maxPool3dWithIndices,
} from './ops/pool/max.js';
export { type AvgPoolOptions, avgPool1d, avgPool2d, avgPool3d } from './ops/pool/average.js';
export { adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d } from './ops/pool/adaptive.js';
export {
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
} from './ops/pool/adaptive-max.js';
export { type TapTable, type Taps } from './kernels/resample-kernel.js';
export {
  type Interpolation as ResizeInterpolation,
  type Resize,
  resizeRatio,
  upsampleTaps,
} from './kernels/upsample-taps.js';
export { type UpsampleMode, type UpsampleOptions, upsample } from './ops/resample/upsample.js';
export { type GridSampleOptions, gridSample } from './ops/resample/grid-sampler.js';
export { type PatchOptions, col2im, im2col } from './ops/convolution/im2col.js';

// Normalization and losses
export { type LayerNormOptions, layerNorm, nativeLayerNorm, rmsNorm } from './ops/norm/layer.js';
export { type BatchNormOptions, batchNorm } from './ops/norm/batch.js';
export { groupNorm } from './ops/norm/group.js';
export { instanceNorm } from './ops/norm/instance.js';
export { type NllLossOptions, type Reduction, nllLoss, reductionNumber } from './ops/loss/nll.js';
export { type CrossEntropyOptions, crossEntropy } from './ops/loss/cross-entropy.js';
export {
  type BinaryLossOptions,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  huberLoss,
  l1Loss,
  mseLoss,
  smoothL1Loss,
} from './ops/loss/pointwise.js';
export { type LossOptions, reduced } from './ops/loss/reduce.js';
export {
  type KlDivOptions,
  type PoissonNllLossOptions,
  klDiv,
  poissonNllLoss,
} from './ops/loss/divergence.js';
export {
  type MarginLossOptions,
  type TripletMarginLossOptions,
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  marginRankingLoss,
  softMarginLoss,
  tripletMarginLoss,
  checkTriplet,
} from './ops/loss/margin.js';
export {
  type MultiMarginLossOptions,
  multiMarginLoss,
  multilabelMarginLoss,
} from './ops/loss/multi-margin.js';

// Factories and random tensors
export { fullOp, scalarTensor } from './ops/factory/factory.js';
export { type Bound } from './ops/factory/space.js';
export { normal_ } from './ops/random/distribution-fill.js';
export { bernoulli_, uniform_ } from './ops/random/fill.js';
export { dropout_ } from './ops/random/dropout.js';
export { nativeDropout } from './ops/random/native-dropout.js';
export { replayOf, replayedOp } from './rng/replay.js';
export type { SchemaArgument } from './op/schema.js';
export { itemAtOnce, readList } from './read-values.js';
