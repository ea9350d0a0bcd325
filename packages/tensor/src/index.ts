/**
 * @file Public API of `@tessera/tensor`.
 */
export {
  type AutocastOptions,
  autocast,
  getAutocastDType,
  isAutocastEnabled,
} from './autocast/autocast.js';
export { type AutocastDType } from './autocast/autocast-state.js';
export { type DType, DTYPES, isDType, isFloatingPoint, isIntegral, itemSize } from './dtype.js';
export { defaultDType, setDefaultDType } from './default-dtype.js';
export {
  type DeviceMemory,
  type DeviceRuntime,
  type DeviceType,
  type DeviceTypes,
  isDeviceAvailable,
} from './device.js';
export { registerDevice } from './register-device.js';

// Tensors
export { Tensor } from './tensor.js';
export { isTensor } from './tensor-factory.js';
export { type TensorData, fromBytes, fromTypedArray, tensor } from './create.js';
export { download } from './device-copy.js';
export { type NestedNumbers, type TypeChoices, type TypedValues } from './read-values.js';
export { type MemoryFormat } from './memory-format.js';
export { promoteTypes, resultType } from './type-promotion.js';
export { broadcastShapes } from './broadcast-shapes.js';

// Memory
export { cpuHeap, type CpuHeap, type HeapStats } from './heap/cpu-heap.js';
export { Storage } from './memory/storage.js';
export { liveStorageBytes } from './memory/reclaim.js';
export { keep, tidy } from './memory/tidy.js';

// Files
export type { ByteSource } from './io/byte-source.js';
export {
  type CheckpointCache,
  type CheckpointCacheOptions,
  clearCheckpointCache,
} from './io/cache/http-cache.js';
export { type LoadCheckpointOptions, loadCheckpoint } from './io/checkpoint.js';
export { type SaveCheckpointOptions, saveCheckpoint } from './io/save-checkpoint.js';
export { serializeCheckpoint } from './io/serialize-checkpoint.js';
export { parseSafetensors, serializeSafetensors } from './io/safetensors.js';
export type { LoadProgress } from './io/loading.js';
export {
  type LoadedTensor,
  type StreamOptions,
  streamSafetensors,
} from './io/safetensors-stream.js';
export {
  type LoadTorchCheckpointOptions,
  loadTorchCheckpoint,
} from './io/torch/torch-checkpoint.js';

// Operators
export { OpOverload } from './op/op-overload.js';
export { getOp } from './operators.js';
export type { NamedArgs, TensorMeta } from './op/op-record.js';
export { type AutogradFormula, type KernelFunction, type Library, library } from './library.js';
export { type Schema, parseSchema } from './op/schema.js';
export { callOp } from './dispatch/dispatcher.js';
export { type DispatchMode, withDispatchMode } from './dispatch/modes.js';

// Tracing protocols
export { track } from './protocols/track.js';

// Autograd
export { enableGrad, isGradEnabled, noGrad, setGradEnabled } from './autograd/grad-mode.js';
export {
  type GradHook,
  GradNode,
  type HookHandle,
  type NodeHook,
  type NodePreHook,
} from './autograd/grad-node.js';
export { type GradOptions, grad } from './autograd/grad.js';
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
  vhp,
  vjp,
} from './autograd/functional.js';
export {
  type CheckpointOptions,
  checkpoint,
  checkpointSequential,
} from './autograd/activation-checkpoint.js';
export { type SavedTensorHooks, withSavedTensorHooks } from './autograd/saved-tensor-hooks.js';
export { onceDifferentiable } from './autograd/once-differentiable.js';
export { Function } from './autograd/function.js';
export { FunctionContext } from './autograd/function-context.js';
export { type FunctionClass, type FunctionGradients } from './autograd/function-node.js';
export { detectAnomaly, isAnomalyEnabled, setDetectAnomaly } from './autograd/anomaly.js';

// Random numbers
export { type GeneratorState, getRngState, manualSeed, setRngState } from './rng/generator.js';

// Operator functions: arithmetic and functions of elements
export { add, mul, neg, sub } from './ops/pointwise/arithmetic.js';
export {
  type DivOptions,
  type RoundingMode,
  div,
  floorDivide,
  fmod,
  remainder,
} from './ops/pointwise/division.js';
export { addcdiv, addcmul, lerp } from './ops/pointwise/fused-arithmetic.js';
export {
  exp,
  exp2,
  expm1,
  log,
  log10,
  log1p,
  log2,
  reciprocal,
  rsqrt,
  sqrt,
} from './ops/pointwise/exponential.js';
export { floatPower, pow, square } from './ops/pointwise/power.js';
export { atan, cos, erf, erfc, sigmoid, sin, tan, tanh } from './ops/pointwise/trigonometric.js';
export { abs, ceil, floor, frac, round, sign, trunc } from './ops/pointwise/rounding.js';
export {
  clamp,
  clampMax,
  clampMin,
  clip,
  fmax,
  fmin,
  maximum,
  minimum,
} from './ops/pointwise/extremum.js';
export {
  eq,
  ge,
  gt,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  le,
  lt,
  ne,
} from './ops/pointwise/comparison.js';
export {
  bitwiseAnd,
  bitwiseNot,
  bitwiseOr,
  bitwiseXor,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
} from './ops/pointwise/logical.js';
export {
  acos,
  acosh,
  angle,
  asin,
  asinh,
  atan2,
  atanh,
  cosh,
  deg2rad,
  hypot,
  rad2deg,
  sinc,
  sinh,
} from './ops/pointwise/trigonometric-inverse.js';
export { digamma, erfinv, i0, lgamma } from './ops/pointwise/special.js';
export { polygamma } from './ops/pointwise/polygamma.js';
export { logaddexp, logaddexp2, logit, xlogy } from './ops/pointwise/log-domain.js';
export {
  type SegmentOptions,
  type SegmentReduction,
  segmentReduce,
} from './ops/reduction/segment.js';
export {
  type NanToNumOptions,
  copysign,
  frexp,
  ldexp,
  nanToNum,
  nextafter,
  sgn,
  signbit,
} from './ops/pointwise/float-parts.js';
export { isreal, positive, real } from './ops/pointwise/real.js';
export { bitwiseLeftShift, bitwiseRightShift, gcd, lcm } from './ops/pointwise/integer.js';
export { heaviside } from './ops/pointwise/heaviside.js';
export { type IscloseOptions, allclose, equal, isclose } from './ops/pointwise/closeness.js';
export { type IsinOptions, isin } from './ops/pointwise/membership.js';
export { where } from './ops/pointwise/where.js';
export { fill, maskedFill } from './ops/pointwise/fill.js';

// Activations
export {
  hardsigmoid,
  hardswish,
  hardtanh,
  leakyRelu,
  relu,
  relu6,
  threshold,
} from './ops/activation/activation.js';
export {
  type GeluApproximation,
  celu,
  elu,
  gelu,
  mish,
  selu,
  silu,
  softplus,
} from './ops/activation/smooth.js';
export { logSigmoid } from './ops/activation/log-sigmoid.js';
export { hardshrink, softshrink } from './ops/activation/shrink.js';
export { glu } from './ops/activation/glu.js';
export { prelu } from './ops/activation/prelu.js';
export { logSoftmax, softmax } from './ops/activation/softmax.js';

// Shapes and views
export { clone, contiguous } from './ops/arrange/copy.js';
export { expand, permute, reshape, view } from './ops/view/view.js';
export { flatten, movedim, squeeze, t, transpose, unflatten, unsqueeze } from './ops/view/dims.js';
export { diagonal, narrow, select, slice } from './ops/view/slice.js';
export { chunk, split, unbind } from './ops/view/split.js';
export { asStrided } from './ops/view/strided.js';
export { diagonalScatter, selectScatter, sliceScatter } from './ops/view/scatter.js';
export { cat, stack } from './ops/arrange/join.js';
export { blockDiag, columnStack, dstack, hstack, vstack } from './ops/arrange/join-stack.js';
export { unfold } from './ops/view/unfold.js';
export { dsplit, hsplit, tensorSplit, vsplit } from './ops/view/split-at.js';
export { atleast1d, atleast2d, atleast3d, ravel } from './ops/view/rank.js';
export { fliplr, flipud, repeat, roll, rot90, tile } from './ops/arrange/rearrange.js';
export { repeatInterleave } from './ops/arrange/repeat-interleave.js';
export { channelShuffle, pixelShuffle, pixelUnshuffle } from './ops/arrange/pixel-shuffle.js';
export {
  broadcastTensors,
  cartesianProd,
  combinations,
  meshgrid,
  trilIndices,
  triuIndices,
} from './ops/arrange/meshgrid.js';
export { diff } from './ops/scan/diff.js';
export { type GradientOptions, gradient } from './ops/scan/gradient.js';
export { diag, diagEmbed, diagflat, trace } from './ops/view/diagonal.js';

// Reductions, scans, sorting
export { mean, prod, sum } from './ops/reduction/reduction.js';
export type { ReduceOptions } from './ops/reduction/reduce-options.js';
export { type Dims } from './ops/reduction/spread.js';
export {
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
export { bincount, histc, histogram } from './ops/reduction/histogram.js';
export { logcumsumexp } from './ops/scan/log-sum-exp.js';
export { cumprod, cumsum, flip } from './ops/scan/scan.js';
export { cummax, cummin } from './ops/scan/extremum.js';
export { aminmax, countNonzero, nanmean, nansum } from './ops/reduction/nan.js';
export { kthvalue, median, mode, nanmedian } from './ops/order/order-statistic.js';
export {
  type Interpolation,
  type QuantileOptions,
  nanquantile,
  quantile,
} from './ops/order/quantile.js';
export { type TrapezoidOptions, cumulativeTrapezoid, trapezoid } from './ops/scan/trapezoid.js';
export { unique, uniqueConsecutive } from './ops/order/unique.js';
export type { UniqueOptions, UniqueResult } from './ops/order/unique-options.js';
export {
  type BucketOptions,
  type SearchOptions,
  bucketize,
  searchsorted,
} from './ops/order/search-sorted.js';
export { argsort, sort, topk } from './ops/order/sort.js';

// Indexing
export { gather, scatter, scatterAdd } from './ops/indexing/scatter.js';
export { embedding } from './ops/indexing/embedding.js';
export { indexAdd, indexSelect } from './ops/indexing/select.js';
export type { IndexItem } from './ops/indexing/items.js';
export type { TensorIndices } from './ops/indexing/indexing.js';
export { index, indexPut, maskedSelect } from './ops/indexing/subscript.js';
export { argwhere, nonzero } from './ops/indexing/nonzero.js';
export { type IndexReduction, indexCopy, indexFill, indexReduce } from './ops/indexing/write.js';
export { type ScatterReduction, scatterReduce } from './ops/indexing/scatter-reduce.js';
export { maskedScatter } from './ops/indexing/masked-scatter.js';
export { put, take, takeAlongDim } from './ops/indexing/take.js';
export { oneHot } from './ops/indexing/one-hot.js';
export { tril, triu } from './ops/indexing/triangle.js';
export { type PadMode, pad } from './ops/resample/pad.js';

// Matrix products
export { addmm, baddbmm, bmm, dot, mm, mv } from './ops/matmul/matmul.js';
export type { ProductOptions } from './ops/matmul/product-options.js';
export { linear, matmul, outer } from './ops/matmul/composite.js';
export { bilinear } from './ops/matmul/bilinear.js';
export { inner, kron, tensordot, vdot } from './ops/matmul/contraction.js';
export { einsum } from './ops/matmul/einsum.js';
export { addbmm, addmv, addr } from './ops/matmul/added.js';
export { corrcoef, cov, cross } from './ops/matmul/cross.js';
export { cdist, pdist } from './ops/matmul/distance.js';
export { cosineSimilarity, pairwiseDistance } from './ops/matmul/pairs.js';
export { dist, renorm } from './ops/matmul/similarity.js';

// Factories
export { type TensorOptions, empty, full, ones, zeros } from './ops/factory/factory.js';
export { emptyLike, fullLike, onesLike, zerosLike } from './ops/factory/like.js';
export { arange, eye } from './ops/factory/range.js';
export { linspace, logspace } from './ops/factory/space.js';

// Random tensors
export { rand, randint, randn, randperm } from './ops/random/random.js';
export {
  type MultinomialOptions,
  bernoulli,
  multinomial,
  randLike,
  randnLike,
} from './ops/random/fill.js';
export { binomial, poisson, standardGamma } from './ops/random/sample.js';
export { dropout } from './ops/random/dropout.js';
