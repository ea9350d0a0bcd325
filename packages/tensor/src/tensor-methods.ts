/**
 * @file Which operator modules become methods of `Tensor`.
 *
 * Every exported function of a module listed here takes the tensor as its first parameter and so is a
 * method by the same name. To add a family, add its module to both lists. Modules of functions that take
 * no tensor first (factories, cat, where, losses) are not listed.
 */
import * as activation from './ops/activation.js';
import * as activationSmooth from './ops/activation-smooth.js';
import * as activationGlu from './ops/activation-glu.js';
import * as activationLogSigmoid from './ops/activation-log-sigmoid.js';
import * as activationPrelu from './ops/activation-prelu.js';
import * as activationShrink from './ops/activation-shrink.js';
import * as floatParts from './ops/float-parts.js';
import * as heaviside from './ops/heaviside.js';
import * as integer from './ops/integer.js';
import * as logDomain from './ops/log-domain.js';
import * as membership from './ops/membership.js';
import * as real from './ops/real.js';
import * as special from './ops/special.js';
import * as trigonometricInverse from './ops/trigonometric-inverse.js';
import * as arithmetic from './ops/pointwise-arithmetic.js';
import * as comparison from './ops/comparison.js';
import * as dropout from './ops/dropout.js';
import * as indexSelect from './ops/index-select.js';
import * as subscript from './ops/subscript.js';
import * as pad from './ops/pad.js';
import * as triangle from './ops/triangle.js';
import * as factoryLike from './ops/factory-like.js';
import * as randomFill from './ops/random-fill.js';
import * as copy from './ops/copy.js';
import * as division from './ops/division.js';
import * as exponential from './ops/exponential.js';
import * as extremum from './ops/extremum.js';
import * as fill from './ops/fill.js';
import * as fusedArithmetic from './ops/fused-arithmetic.js';
import * as logical from './ops/logical.js';
import * as matmul from './ops/matmul.js';
import * as matmulComposite from './ops/matmul-composite.js';
import * as power from './ops/power.js';
import * as reduction from './ops/reduction.js';
import * as reductionExtremum from './ops/reduction-extremum.js';
import * as reductionLogic from './ops/reduction-logic.js';
import * as reductionNorm from './ops/reduction-norm.js';
import * as reductionVariance from './ops/reduction-variance.js';
import * as rounding from './ops/rounding.js';
import * as scan from './ops/scan.js';
import * as scatter from './ops/scatter.js';
import * as softmax from './ops/softmax.js';
import * as sort from './ops/sort.js';
import * as trigonometric from './ops/trigonometric.js';
import * as view from './ops/view.js';
import * as viewDims from './ops/view-dims.js';
import * as setStorage from './ops/set-storage.js';
import * as viewScatter from './ops/view-scatter.js';
import * as diagonal from './ops/diagonal.js';
import * as contraction from './ops/contraction.js';
import * as finiteDifference from './ops/finite-difference.js';
import * as pixelShuffle from './ops/pixel-shuffle.js';
import * as rearrange from './ops/rearrange.js';
import * as repeatInterleave from './ops/repeat-interleave.js';
import * as cross from './ops/cross.js';
import * as distance from './ops/distance.js';
import * as linalgDet from './ops/linalg-det.js';
import * as linalgFunction from './ops/linalg-function.js';
import * as linalgQr from './ops/linalg-qr.js';
import * as linalgSolve from './ops/linalg-solve.js';
import * as linalgSvd from './ops/linalg-svd.js';
import * as matmulAdded from './ops/matmul-added.js';
import * as normMatrix from './ops/norm-matrix.js';
import * as similarity from './ops/similarity.js';
import * as viewInplace from './ops/view-inplace.js';
import * as viewCopy from './ops/view-copy.js';
import * as viewRank from './ops/view-rank.js';
import * as viewSplitAt from './ops/view-split-at.js';
import * as viewUnfold from './ops/view-unfold.js';
import * as viewSlice from './ops/view-slice.js';
import * as indexWrite from './ops/index-write.js';
import * as maskedScatter from './ops/masked-scatter.js';
import * as nonzero from './ops/nonzero.js';
import * as orderStatistic from './ops/order-statistic.js';
import * as quantile from './ops/quantile.js';
import * as reductionNan from './ops/reduction-nan.js';
import * as scanExtremum from './ops/scan-extremum.js';
import * as scatterReduce from './ops/scatter-reduce.js';
import * as take from './ops/take.js';
import * as uniqueness from './ops/unique.js';
import * as viewSplit from './ops/view-split.js';
import * as viewStrided from './ops/view-strided.js';

/** The functions of a module as methods: without their first parameter. */
export type MethodsOf<M> = {
  [K in keyof M as M[K] extends (...args: never[]) => unknown ? K : never]: M[K] extends (
    self: infer _S,
    ...rest: infer R
  ) => infer O
    ? (...rest: R) => O
    : never;
};

/** All operator methods. */
export interface TensorMethods
  extends
    MethodsOf<typeof activation>,
    MethodsOf<typeof activationSmooth>,
    MethodsOf<typeof activationGlu>,
    MethodsOf<typeof activationLogSigmoid>,
    MethodsOf<typeof activationPrelu>,
    MethodsOf<typeof activationShrink>,
    MethodsOf<typeof floatParts>,
    MethodsOf<typeof heaviside>,
    MethodsOf<typeof integer>,
    MethodsOf<typeof logDomain>,
    MethodsOf<typeof membership>,
    MethodsOf<typeof real>,
    MethodsOf<typeof special>,
    MethodsOf<typeof trigonometricInverse>,
    MethodsOf<typeof arithmetic>,
    MethodsOf<typeof comparison>,
    MethodsOf<typeof dropout>,
    MethodsOf<typeof indexSelect>,
    MethodsOf<typeof subscript>,
    MethodsOf<typeof pad>,
    MethodsOf<typeof triangle>,
    MethodsOf<typeof factoryLike>,
    MethodsOf<typeof randomFill>,
    MethodsOf<typeof copy>,
    MethodsOf<typeof division>,
    MethodsOf<typeof exponential>,
    MethodsOf<typeof extremum>,
    MethodsOf<typeof fill>,
    MethodsOf<typeof fusedArithmetic>,
    MethodsOf<typeof logical>,
    MethodsOf<typeof matmul>,
    MethodsOf<typeof matmulComposite>,
    MethodsOf<typeof power>,
    MethodsOf<typeof reduction>,
    Omit<MethodsOf<typeof reductionExtremum>, keyof reductionExtremum.ExtremumMethods>,
    reductionExtremum.ExtremumMethods,
    MethodsOf<typeof reductionLogic>,
    MethodsOf<typeof reductionNorm>,
    MethodsOf<typeof reductionVariance>,
    MethodsOf<typeof rounding>,
    MethodsOf<typeof scan>,
    MethodsOf<typeof scatter>,
    MethodsOf<typeof softmax>,
    MethodsOf<typeof sort>,
    MethodsOf<typeof trigonometric>,
    MethodsOf<typeof view>,
    MethodsOf<typeof viewDims>,
    MethodsOf<typeof setStorage>,
    MethodsOf<typeof viewScatter>,
    MethodsOf<typeof diagonal>,
    MethodsOf<typeof contraction>,
    MethodsOf<typeof finiteDifference>,
    MethodsOf<typeof pixelShuffle>,
    MethodsOf<typeof rearrange>,
    MethodsOf<typeof repeatInterleave>,
    MethodsOf<typeof cross>,
    MethodsOf<typeof distance>,
    MethodsOf<typeof linalgDet>,
    MethodsOf<typeof linalgFunction>,
    MethodsOf<typeof linalgQr>,
    MethodsOf<typeof linalgSolve>,
    MethodsOf<typeof linalgSvd>,
    MethodsOf<typeof matmulAdded>,
    MethodsOf<typeof normMatrix>,
    MethodsOf<typeof similarity>,
    MethodsOf<typeof viewInplace>,
    MethodsOf<typeof viewCopy>,
    MethodsOf<typeof viewRank>,
    MethodsOf<typeof viewSplitAt>,
    MethodsOf<typeof viewUnfold>,
    MethodsOf<typeof viewSlice>,
    MethodsOf<typeof viewSplit>,
    MethodsOf<typeof indexWrite>,
    MethodsOf<typeof maskedScatter>,
    MethodsOf<typeof nonzero>,
    Omit<MethodsOf<typeof orderStatistic>, keyof orderStatistic.MedianMethods>,
    orderStatistic.MedianMethods,
    MethodsOf<typeof quantile>,
    MethodsOf<typeof reductionNan>,
    MethodsOf<typeof scanExtremum>,
    MethodsOf<typeof scatterReduce>,
    MethodsOf<typeof take>,
    Omit<MethodsOf<typeof uniqueness>, keyof uniqueness.UniqueMethods>,
    uniqueness.UniqueMethods,
    MethodsOf<typeof viewStrided> {}

/** The same modules at run time. */
export const METHOD_MODULES: readonly Readonly<Record<string, unknown>>[] = [
  activation,
  activationSmooth,
  activationGlu,
  activationLogSigmoid,
  activationPrelu,
  activationShrink,
  floatParts,
  heaviside,
  integer,
  logDomain,
  membership,
  real,
  special,
  trigonometricInverse,
  arithmetic,
  comparison,
  dropout,
  indexSelect,
  subscript,
  pad,
  triangle,
  factoryLike,
  randomFill,
  copy,
  division,
  exponential,
  extremum,
  fill,
  fusedArithmetic,
  logical,
  matmul,
  matmulComposite,
  power,
  reduction,
  reductionExtremum,
  reductionLogic,
  reductionNorm,
  reductionVariance,
  rounding,
  scan,
  scatter,
  softmax,
  sort,
  trigonometric,
  view,
  viewDims,
  setStorage,
  viewScatter,
  diagonal,
  contraction,
  finiteDifference,
  pixelShuffle,
  rearrange,
  repeatInterleave,
  cross,
  distance,
  linalgDet,
  linalgFunction,
  linalgQr,
  linalgSolve,
  linalgSvd,
  matmulAdded,
  normMatrix,
  similarity,
  viewInplace,
  viewCopy,
  viewRank,
  viewSplitAt,
  viewUnfold,
  viewSlice,
  viewSplit,
  indexWrite,
  maskedScatter,
  nonzero,
  orderStatistic,
  quantile,
  reductionNan,
  scanExtremum,
  scatterReduce,
  take,
  uniqueness,
  viewStrided,
];
