/**
 * @file Public API of `@tessera/tensor`.
 */
export {
  type AutocastOptions,
  autocast,
  getAutocastDType,
  isAutocastEnabled,
} from './autocast/autocast.js';
export {
  type AutocastDType,
  autocastKey,
  withAutocastSettings,
} from './autocast/autocast-state.js';
export {
  type DType,
  type DTypeCategory,
  type DTypeInfo,
  DTYPES,
  isDType,
  isFloatingPoint,
  isIntegral,
  itemSize,
} from './dtype.js';
export { defaultDType, setDefaultDType } from './default-dtype.js';
export {
  type DeviceMemory,
  type DeviceRuntime,
  type DeviceType,
  deviceRuntime,
  isDeviceAvailable,
  registerDevice,
} from './device.js';

// Tensors
export { Tensor } from './tensor.js';
export { TensorBase, type PendingValue } from './tensor-base.js';
export {
  emptyContiguous,
  emptyFromMeta,
  emptyOnMemory,
  fakeFromMeta,
  isFakeMode,
  isTensor,
  makeTensor,
  withFakeTensors,
} from './tensor-factory.js';
export { type TensorData, fromBytes, fromTypedArray, tensor } from './create.js';
export { download } from './device-copy.js';
export { type NestedNumbers, type TypedValues } from './read-values.js';
export { type MemoryFormat, formatStrides } from './memory-format.js';
export { kindType, numberType, promoteTypes, resultType } from './type-promotion.js';
export {
  broadcastShapes,
  contiguousStrides,
  expandStrides,
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
export { readNumbers, writeNumbers } from './kernels/elements.js';
export { type ValueCheck, indexCheck, valueError } from './kernels/value-check.js';
export { bfloatToNumber, halfToNumber, numberToBfloat, numberToHalf } from './kernels/float16.js';

// Memory
export { cpuHeap, type CpuHeap, type HeapStats } from './heap/cpu-heap.js';
export { Snapshot, type SnapshotBudget } from './memory/snapshot.js';
export { Storage, type StorageKeeper, type StorageState } from './memory/storage.js';
export {
  largestStorages,
  liveStorageBytes,
  reclaimNow,
  withoutForcedCollection,
} from './memory/reclaim.js';
export { inLibraryScope, outsideScopes } from './memory/library-scope.js';
export { show } from './memory/show.js';
export { keep, tidy } from './memory/tidy.js';

// Files
export type { ByteSource } from './io/byte-stream.js';
export {
  type LoadCheckpointOptions,
  type SaveCheckpointOptions,
  loadCheckpoint,
  saveCheckpoint,
} from './io/checkpoint.js';
export { parseSafetensors, serializeSafetensors } from './io/safetensors.js';
export {
  type LoadedTensor,
  type StreamOptions,
  streamSafetensors,
} from './io/safetensors-stream.js';

// Operators
export { OpOverload, allOps, defineOp, findOp, getOp } from './op/op-overload.js';
export { type InplaceOf, defineInplace } from './op/inplace.js';
export type {
  GradResult,
  NamedArgs,
  OpRecord,
  OpTag,
  TensorMeta,
  ViewMeta,
  Vjp,
  VjpContext,
} from './op/op-record.js';
export { type AutogradFormula, type KernelFunction, type Library, library } from './library.js';
export { type Schema, type SchemaArgument, type SchemaType, parseSchema } from './op/schema.js';
export { unreadable } from './dispatch/common-device.js';
export { callOp, dispatchBelowAutograd, dispatchBelowPreDispatch } from './dispatch/dispatcher.js';
export { isTraced } from './dispatch/is-traced.js';
export { outputMetas } from './dispatch/kernels.js';
export {
  type KernelProvider,
  kernelProvider,
  registerKernelProvider,
} from './dispatch/kernel-provider.js';
export {
  type BackwardCall,
  type DispatchMode,
  type ModeState,
  type PreDispatchMode,
  type Resume,
  activeMode,
  modes,
  withDispatchMode,
  withDispatchModes,
  withPreDispatchMode,
  withoutModes,
} from './dispatch/modes.js';

// Tracing protocols
export { isTracked, track, trackClass } from './protocols/track.js';
export { moduleScope, runningModules } from './protocols/module-scope.js';
export { type RegionInputs, type RegionNumber, trustedRegion } from './protocols/trusted-region.js';

// Autograd
export {
  enableGrad,
  gradMode,
  isGradEnabled,
  noGrad,
  setGradEnabled,
} from './autograd/grad-mode.js';
export { type BackwardOptions, runBackward } from './autograd/engine.js';
export {
  type Edge,
  type GradHook,
  type GradMeta,
  GradNode,
  type HookHandle,
  type NodeHook,
  type NodePreHook,
  peekSequenceNr,
} from './autograd/grad-node.js';
export { autogradMeta } from './autograd/autograd-meta.js';
export {
  dropGradient,
  gradientOf,
  releaseUnseen,
  setOwnGradient,
  zeroGradient,
} from './autograd/own-gradient.js';
export { backwardTwice } from './autograd/backward-twice.js';
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
  beginWithoutHistory,
  noteWrittenSince,
  requiresGrad,
  setHistory,
  wasWrittenSince,
} from './autograd/history.js';
export {
  type GradientListener,
  announceCaptured,
  gradientListenerOf,
  setGradientListener,
} from './autograd/gradient-listener.js';
export { attachNode } from './autograd/record.js';
export { type GradOptions, grad } from './autograd/grad.js';
export { backwardOutsideGraph, outsideGraphOp } from './autograd/outside-graph.js';
export {
  inferenceMode,
  isInferenceModeEnabled,
  isInferenceTensor,
} from './autograd/inference-mode.js';
export {
  type FunctionalOptions,
  hessian,
  hvp,
  jacobian,
  jvp,
  type Like,
  type TensorOrList,
  vhp,
  vjp,
} from './autograd/functional.js';
export {
  type CheckpointOptions,
  type CheckpointStep,
  checkpoint,
  checkpointSequential,
  checkpointWith,
} from './autograd/activation-checkpoint.js';
export { type SavedTensorHooks, withSavedTensorHooks } from './autograd/saved-tensor-hooks.js';
export { onceDifferentiable } from './autograd/once-differentiable.js';
export { type HostCode, hostCall } from './autograd/host-call.js';
export { Function } from './autograd/function.js';
export { FunctionContext } from './autograd/function-context.js';
export {
  type FunctionClass,
  type FunctionGradients,
  FunctionNode,
} from './autograd/function-node.js';
export { detectAnomaly, isAnomalyEnabled, setDetectAnomaly } from './autograd/anomaly.js';
export { currentBackwardNode } from './autograd/current-backward-node.js';

// Random numbers
export {
  GENERATOR_MEMORY,
  type GeneratorState,
  getRngState,
  manualSeed,
  reserveOffsets,
  setRngState,
} from './rng/generator.js';
export { philox, philoxNormal, philoxUniform } from './rng/philox.js';

// Operator functions: arithmetic and functions of elements
export { add, add_, mul, mul_, neg, neg_, rsub, sub, sub_ } from './ops/pointwise/arithmetic.js';
export {
  type DivOptions,
  type RoundingMode,
  div,
  div_,
  floorDivide,
  floorDivide_,
  fmod,
  fmod_,
  remainder,
  remainder_,
  trueDivide,
  trueDivide_,
} from './ops/pointwise/division.js';
export {
  addcdiv,
  addcdiv_,
  addcmul,
  addcmul_,
  lerp,
  lerp_,
} from './ops/pointwise/fused-arithmetic.js';
export {
  exp,
  exp2,
  exp2_,
  exp_,
  expm1,
  expm1_,
  log,
  log10,
  log10_,
  log1p,
  log1p_,
  log2,
  log2_,
  log_,
  reciprocal,
  reciprocal_,
  rsqrt,
  rsqrt_,
  sqrt,
  sqrt_,
} from './ops/pointwise/exponential.js';
export { floatPower, floatPower_, pow, pow_, square, square_ } from './ops/pointwise/power.js';
export {
  atan,
  atan_,
  cos,
  cos_,
  erf,
  erf_,
  erfc,
  erfc_,
  sigmoid,
  sigmoid_,
  sin,
  sin_,
  tan,
  tan_,
  tanh,
  tanh_,
} from './ops/pointwise/trigonometric.js';
export {
  type RoundOptions,
  abs,
  abs_,
  ceil,
  ceil_,
  floor,
  floor_,
  frac,
  frac_,
  round,
  round_,
  sign,
  sign_,
  trunc,
  trunc_,
} from './ops/pointwise/rounding.js';
export {
  clamp,
  clampMax,
  clampMax_,
  clampMin,
  clampMin_,
  clamp_,
  fmax,
  fmin,
  maximum,
  minimum,
} from './ops/pointwise/extremum.js';
export {
  eq,
  eq_,
  ge,
  ge_,
  gt,
  gt_,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  le,
  le_,
  lt,
  lt_,
  ne,
  ne_,
} from './ops/pointwise/comparison.js';
export {
  bitwiseAnd,
  bitwiseAnd_,
  bitwiseNot,
  bitwiseNot_,
  bitwiseOr,
  bitwiseOr_,
  bitwiseXor,
  bitwiseXor_,
  logicalAnd,
  logicalAnd_,
  logicalNot,
  logicalNot_,
  logicalOr,
  logicalOr_,
  logicalXor,
  logicalXor_,
} from './ops/pointwise/logical.js';
export {
  acos,
  acos_,
  acosh,
  acosh_,
  angle,
  asin,
  asin_,
  asinh,
  asinh_,
  atan2,
  atan2_,
  atanh,
  atanh_,
  cosh,
  cosh_,
  deg2rad,
  deg2rad_,
  hypot,
  hypot_,
  rad2deg,
  rad2deg_,
  sinc,
  sinc_,
  sinh,
  sinh_,
} from './ops/pointwise/trigonometric-inverse.js';
export {
  digamma,
  digamma_,
  erfinv,
  erfinv_,
  i0,
  i0_,
  lgamma,
  lgamma_,
  specialI0e,
  specialI1,
  specialI1e,
} from './ops/pointwise/special.js';
export { polygamma } from './ops/pointwise/polygamma.js';
export { logaddexp, logaddexp2, logit, logit_, xlogy, xlogy_ } from './ops/pointwise/log-domain.js';
export {
  type NanToNumOptions,
  copysign,
  copysign_,
  frexp,
  ldexp,
  ldexp_,
  nanToNum,
  nanToNum_,
  nextafter,
  nextafter_,
  sgn,
  sgn_,
  signbit,
} from './ops/pointwise/float-parts.js';
export {
  conjPhysical,
  conjPhysical_,
  isreal,
  positive,
  real,
  resolveConj,
  resolveNeg,
} from './ops/pointwise/real.js';
export {
  bitwiseLeftShift,
  bitwiseLeftShift_,
  bitwiseRightShift,
  bitwiseRightShift_,
  gcd,
  gcd_,
  lcm,
  lcm_,
} from './ops/pointwise/integer.js';
export { heaviside, heaviside_ } from './ops/pointwise/heaviside.js';
export {
  type IscloseOptions,
  type IsinOptions,
  isclose,
  isin,
} from './ops/pointwise/membership.js';
export { where } from './ops/pointwise/where.js';
export { fill, fill_, maskedFill, maskedFill_, zero_ } from './ops/pointwise/fill.js';
export { type Binary, type TensorBinary, type Unary } from './op/op-functions.js';

// Activations
export {
  hardsigmoid,
  hardsigmoid_,
  hardswish,
  hardswish_,
  hardtanh,
  hardtanh_,
  leakyRelu,
  leakyRelu_,
  relu,
  relu6,
  relu_,
  threshold,
  threshold_,
} from './ops/activation/activation.js';
export {
  type GeluApproximation,
  celu,
  celu_,
  elu,
  elu_,
  gelu,
  gelu_,
  mish,
  mish_,
  selu,
  selu_,
  silu,
  silu_,
  softplus,
} from './ops/activation/smooth.js';
export { thresholdBackward } from './ops/activation/backward.js';
export { logSigmoid } from './ops/activation/log-sigmoid.js';
export { hardshrink, softshrink } from './ops/activation/shrink.js';
export { glu } from './ops/activation/glu.js';
export { prelu } from './ops/activation/prelu.js';
export { logSoftmax, softmax } from './ops/activation/softmax.js';

// Shapes and views
export { clone, contiguous, copy_, detach, toDevice, toDtype } from './ops/arrange/copy.js';
export { expand, permute, reshape, view } from './ops/view/view.js';
export {
  expandAs,
  flatten,
  mT,
  movedim,
  reshapeAs,
  squeeze,
  t,
  transpose,
  unflatten,
  unsqueeze,
  viewAs,
} from './ops/view/dims.js';
export { diagonal, narrow, select, slice } from './ops/view/slice.js';
export { chunk, split, unbind } from './ops/view/split.js';
export { alias, asStrided, asStridedScatter } from './ops/view/strided.js';
export { diagonalScatter, selectScatter, sliceScatter } from './ops/view/scatter.js';
export { cat, stack } from './ops/arrange/join.js';
export {
  blockDiag,
  chunkCat,
  columnStack,
  dstack,
  hstack,
  vstack,
} from './ops/arrange/join-stack.js';
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
export { unfold } from './ops/view/unfold.js';
export { asStrided_, detach_, squeeze_, t_, transpose_, unsqueeze_ } from './ops/view/inplace.js';
export { dsplit, hsplit, tensorSplit, vsplit } from './ops/view/split-at.js';
export { type AtLeast, H, T, atleast1d, atleast2d, atleast3d, mH, ravel } from './ops/view/rank.js';
export { fliplr, flipud, repeat, roll, rot90, tile } from './ops/arrange/rearrange.js';
export { repeatInterleave } from './ops/arrange/repeat-interleave.js';
export { channelShuffle, pixelShuffle, pixelUnshuffle } from './ops/arrange/pixel-shuffle.js';
export {
  type GridIndexing,
  broadcastTensors,
  cartesianProd,
  combinations,
  meshgrid,
  trilIndices,
  triuIndices,
} from './ops/arrange/meshgrid.js';
export { type GradientOptions, diff, gradient } from './ops/scan/finite-difference.js';
export { diag, diagEmbed, diagflat, trace } from './ops/view/diagonal.js';

// Reductions, scans, sorting
export { type ReduceOptions, mean, prod, sum } from './ops/reduction/reduction.js';
export { type Dims } from './ops/reduction/spread.js';
export {
  type ExtremumFunction,
  type ExtremumMethods,
  type ValuesAndIndices,
  amax,
  amin,
  argmax,
  argmin,
  max,
  min,
} from './ops/reduction/extremum.js';
export { all, any } from './ops/reduction/logic.js';
export { type VarianceOptions, std, stdMean, varMean, variance } from './ops/reduction/variance.js';
export { logsumexp, norm } from './ops/reduction/norm.js';
export { cumprod, cumprod_, cumsum, cumsum_, flip } from './ops/scan/scan.js';
export { cummax, cummin } from './ops/scan/extremum.js';
export {
  type AminmaxOptions,
  aminmax,
  countNonzero,
  nanmean,
  nansum,
} from './ops/reduction/nan.js';
export {
  type MedianFunction,
  type MedianMethods,
  kthvalue,
  median,
  mode,
  nanmedian,
} from './ops/order/order-statistic.js';
export {
  type Interpolation,
  type QuantileOptions,
  nanquantile,
  quantile,
} from './ops/order/quantile.js';
export { type TrapezoidOptions, cumulativeTrapezoid, trapezoid } from './ops/scan/trapezoid.js';
export {
  type UniqueMethods,
  type UniqueOptions,
  type UniqueResult,
  unique,
  uniqueConsecutive,
} from './ops/order/unique.js';
export {
  type BucketOptions,
  type SearchOptions,
  bucketize,
  searchsorted,
} from './ops/order/search-sorted.js';
export { argsort, msort, sort, topk } from './ops/order/sort.js';

// Indexing
export { gather, scatter, scatterAdd, scatterAdd_, scatter_ } from './ops/indexing/scatter.js';
export { embedding, indexAdd, indexAdd_, indexSelect } from './ops/indexing/select.js';
export type { IndexItem } from './ops/indexing/items.js';
export type { TensorIndices } from './ops/indexing/indexing.js';
export { index, indexPut, indexPut_, maskedSelect } from './ops/indexing/subscript.js';
export { argwhere, nonzero, nonzeroNumpy, nonzeroStatic } from './ops/indexing/nonzero.js';
export {
  type IndexReduction,
  indexCopy,
  indexCopy_,
  indexFill,
  indexFill_,
  indexReduce,
  indexReduce_,
} from './ops/indexing/write.js';
export {
  type ScatterReduction,
  scatterReduce,
  scatterReduce_,
} from './ops/indexing/scatter-reduce.js';
export { maskedScatter, maskedScatter_ } from './ops/indexing/masked-scatter.js';
export { put, put_, take, takeAlongDim } from './ops/indexing/take.js';
export {
  type EmbeddingBagOptions,
  embeddingBag,
  embeddingRenorm_,
} from './ops/indexing/embedding-bag.js';
export { oneHot, tril, tril_, triu, triu_ } from './ops/indexing/triangle.js';
export { type PadMode, constantPad, pad } from './ops/resample/pad.js';
export { reflectionPad, replicationPad } from './ops/resample/pad-edge.js';

// Matrix products
export {
  type ProductOptions,
  addmm,
  addmm_,
  baddbmm,
  baddbmm_,
  bmm,
  dot,
  mm,
  mv,
} from './ops/matmul/matmul.js';
export { linear, matmul, outer } from './ops/matmul/composite.js';
export { bilinear, inner, kron, tensordot, vdot } from './ops/matmul/contraction.js';
export { einsum } from './ops/matmul/einsum.js';
export { addbmm, addbmm_, addmv, addmv_, addr, addr_ } from './ops/matmul/added.js';
export { corrcoef, cov, cross, linalgCross } from './ops/matmul/cross.js';
export { cdist, pdist } from './ops/matmul/distance.js';
export {
  cosineSimilarity,
  dist,
  pairwiseDistance,
  renorm,
  renorm_,
} from './ops/matmul/similarity.js';
export { type MatrixOrder, linalgMatrixNorm, linalgNorm } from './ops/linalg/norm.js';
export { linalgSvd, linalgSvdvals } from './ops/linalg/svd.js';
export { type QrMode, linalgQr, qr } from './ops/linalg/qr.js';
export { linalgLuSolve } from './ops/linalg/lu-solve.js';
export {
  type TriangularOptions,
  linalgSolveTriangular,
  triangularSolve,
} from './ops/linalg/solve.js';
export { linalgSlogdet, logdet } from './ops/linalg/det.js';
export { linalgMatrixExp, linalgPinv, pinverse } from './ops/linalg/function.js';

// Attention
export { type AttentionOptions, scaledDotProductAttention } from './ops/attention/attention.js';

// Convolution and pooling
export { convolution } from './ops/convolution/convolution.js';
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

// Resizing, sampling and patches
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
export { type NllLossOptions, type Reduction, nllLoss } from './ops/loss/nll.js';
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
export { type LossOptions } from './ops/loss/reduce.js';
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
} from './ops/loss/margin.js';
export {
  type MultiMarginLossOptions,
  multiMarginLoss,
  multilabelMarginLoss,
} from './ops/loss/multi-margin.js';

// Factories
export {
  type TensorOptions,
  empty,
  full,
  ones,
  scalarTensor,
  zeros,
} from './ops/factory/factory.js';
export {
  emptyLike,
  fullLike,
  newEmpty,
  newFull,
  newOnes,
  newZeros,
  onesLike,
  zerosLike,
} from './ops/factory/like.js';
export { arange, eye } from './ops/factory/range.js';
export { type Bound, linspace, logspace } from './ops/factory/space.js';

// Random tensors
export { rand, randint, randn, randperm } from './ops/random/random.js';
export {
  type MultinomialOptions,
  bernoulli,
  bernoulli_,
  multinomial,
  normal_,
  randLike,
  randnLike,
  uniform_,
} from './ops/random/fill.js';
export { dropout, dropout_, nativeDropout } from './ops/random/dropout.js';
export { replayOf, replayedOp } from './rng/replay.js';
