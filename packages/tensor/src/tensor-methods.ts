/**
 * @file Which operator modules become methods of `Tensor`.
 *
 * Every exported function of a module listed here takes the tensor as its first parameter and so is a
 * method by the same name. To add a family, add its module to both lists. Modules of functions that take
 * no tensor first (factories, cat, where, losses) are not listed.
 */
import * as activation from './ops/activation/activation.js';
import * as activationSmooth from './ops/activation/smooth.js';
import * as activationGlu from './ops/activation/glu.js';
import * as activationLogSigmoid from './ops/activation/log-sigmoid.js';
import * as activationPrelu from './ops/activation/prelu.js';
import * as activationShrink from './ops/activation/shrink.js';
import * as floatParts from './ops/pointwise/float-parts.js';
import * as heaviside from './ops/pointwise/heaviside.js';
import * as integer from './ops/pointwise/integer.js';
import * as logDomain from './ops/pointwise/log-domain.js';
import * as closeness from './ops/pointwise/closeness.js';
import * as real from './ops/pointwise/real.js';
import * as special from './ops/pointwise/special.js';
import * as trigonometricInverse from './ops/pointwise/trigonometric-inverse.js';
import * as arithmetic from './ops/pointwise/arithmetic.js';
import * as comparison from './ops/pointwise/comparison.js';
import * as dropout from './ops/random/dropout.js';
import * as indexSelect from './ops/indexing/select.js';
import * as subscript from './ops/indexing/subscript.js';
import * as triangle from './ops/indexing/triangle.js';
import * as factoryLike from './ops/factory/like.js';
import * as randomFill from './ops/random/fill.js';
import * as distributionFill from './ops/random/distribution-fill.js';
import * as copy from './ops/arrange/copy.js';
import * as dtypeMethods from './ops/arrange/dtype-methods.js';
import * as otherNames from './ops/arrange/other-names.js';
import * as division from './ops/pointwise/division.js';
import * as exponential from './ops/pointwise/exponential.js';
import * as extremum from './ops/pointwise/extremum.js';
import * as fill from './ops/pointwise/fill.js';
import * as fusedArithmetic from './ops/pointwise/fused-arithmetic.js';
import * as logical from './ops/pointwise/logical.js';
import * as matmul from './ops/matmul/matmul.js';
import * as matmulComposite from './ops/matmul/composite.js';
import * as power from './ops/pointwise/power.js';
import * as reduction from './ops/reduction/reduction.js';
import * as reductionExtremum from './ops/reduction/extremum.js';
import * as reductionLogic from './ops/reduction/logic.js';
import * as reductionNorm from './ops/reduction/norm.js';
import * as reductionVariance from './ops/reduction/variance.js';
import * as histogram from './ops/reduction/histogram.js';
import * as rounding from './ops/pointwise/rounding.js';
import * as scan from './ops/scan/scan.js';
import * as scanLogSumExp from './ops/scan/log-sum-exp.js';
import * as scatter from './ops/indexing/scatter.js';
import * as softmax from './ops/activation/softmax.js';
import * as sort from './ops/order/sort.js';
import * as trigonometric from './ops/pointwise/trigonometric.js';
import * as view from './ops/view/view.js';
import * as viewDims from './ops/view/dims.js';
import * as setStorage from './ops/arrange/set-storage.js';
import * as viewScatter from './ops/view/scatter.js';
import * as diagonal from './ops/view/diagonal.js';
import * as fillDiagonal from './ops/view/fill-diagonal.js';
import * as contraction from './ops/matmul/contraction.js';
import * as differences from './ops/scan/diff.js';
import * as rearrange from './ops/arrange/rearrange.js';
import * as repeatInterleave from './ops/arrange/repeat-interleave.js';
import * as cross from './ops/matmul/cross.js';
import * as matmulAdded from './ops/matmul/added.js';
import * as similarity from './ops/matmul/similarity.js';
import * as viewInplace from './ops/view/inplace.js';
import * as viewRank from './ops/view/rank.js';
import * as viewSplitAt from './ops/view/split-at.js';
import * as viewUnfold from './ops/view/unfold.js';
import * as viewSlice from './ops/view/slice.js';
import * as indexWrite from './ops/indexing/write.js';
import * as maskedScatter from './ops/indexing/masked-scatter.js';
import * as nonzero from './ops/indexing/nonzero.js';
import * as orderStatistic from './ops/order/order-statistic.js';
import * as quantile from './ops/order/quantile.js';
import * as reductionNan from './ops/reduction/nan.js';
import * as scanExtremum from './ops/scan/extremum.js';
import * as scatterReduce from './ops/indexing/scatter-reduce.js';
import * as take from './ops/indexing/take.js';
import * as uniqueness from './ops/order/unique.js';
import * as viewSplit from './ops/view/split.js';
import * as viewStrided from './ops/view/strided.js';
import { OpOverload } from './op/op-overload.js';

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
    MethodsOf<typeof closeness>,
    MethodsOf<typeof real>,
    MethodsOf<typeof special>,
    MethodsOf<typeof trigonometricInverse>,
    MethodsOf<typeof arithmetic>,
    MethodsOf<typeof comparison>,
    MethodsOf<typeof dropout>,
    MethodsOf<typeof indexSelect>,
    MethodsOf<typeof subscript>,
    MethodsOf<typeof triangle>,
    MethodsOf<typeof factoryLike>,
    MethodsOf<typeof randomFill>,
    MethodsOf<typeof distributionFill>,
    MethodsOf<typeof copy>,
    MethodsOf<typeof dtypeMethods>,
    MethodsOf<typeof otherNames>,
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
    MethodsOf<typeof histogram>,
    MethodsOf<typeof rounding>,
    MethodsOf<typeof scan>,
    MethodsOf<typeof scanLogSumExp>,
    MethodsOf<typeof scatter>,
    MethodsOf<typeof softmax>,
    MethodsOf<typeof sort>,
    MethodsOf<typeof trigonometric>,
    MethodsOf<typeof view>,
    Omit<MethodsOf<typeof viewDims>, keyof viewRank.Transposed>,
    MethodsOf<typeof setStorage>,
    MethodsOf<typeof viewScatter>,
    MethodsOf<typeof diagonal>,
    MethodsOf<typeof fillDiagonal>,
    MethodsOf<typeof contraction>,
    MethodsOf<typeof differences>,
    MethodsOf<typeof rearrange>,
    MethodsOf<typeof repeatInterleave>,
    MethodsOf<typeof cross>,
    MethodsOf<typeof matmulAdded>,
    MethodsOf<typeof similarity>,
    MethodsOf<typeof viewInplace>,
    Omit<MethodsOf<typeof viewRank>, keyof viewRank.Transposed>,
    viewRank.Transposed,
    MethodsOf<typeof viewSplitAt>,
    MethodsOf<typeof viewUnfold>,
    MethodsOf<typeof viewSlice>,
    Omit<MethodsOf<typeof viewSplit>, keyof viewSplit.SplitMethods>,
    viewSplit.SplitMethods,
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
  closeness,
  real,
  special,
  trigonometricInverse,
  arithmetic,
  comparison,
  dropout,
  indexSelect,
  subscript,
  triangle,
  factoryLike,
  randomFill,
  distributionFill,
  copy,
  dtypeMethods,
  otherNames,
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
  histogram,
  rounding,
  scan,
  scanLogSumExp,
  scatter,
  softmax,
  sort,
  trigonometric,
  view,
  viewDims,
  setStorage,
  viewScatter,
  diagonal,
  fillDiagonal,
  contraction,
  differences,
  rearrange,
  repeatInterleave,
  cross,
  matmulAdded,
  similarity,
  viewInplace,
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

/** A method as a function: the tensor comes first. */
export type Method = (self: unknown, ...rest: readonly unknown[]) => unknown;

/** Methods without arguments that are read like fields, as in PyTorch. */
export const PROPERTIES: ReadonlySet<string> = new Set<keyof viewRank.Transposed>([
  'T',
  'mT',
  'H',
  'mH',
]);

/** The functions of modules by name. Beside them a family may export its operators, which other families build on. */
function methodsOf(
  modules: readonly Readonly<Record<string, unknown>>[],
): Readonly<Record<string, Method>> {
  const functions = modules
    .flatMap((module) => Object.entries(module))
    .filter((entry): entry is [string, Method] => typeof entry[1] === 'function');
  // Of several functions of one name the first is the method.
  return Object.fromEntries(functions.reverse());
}

/** The operators that modules export. */
function operatorsOf(modules: readonly Readonly<Record<string, unknown>>[]): readonly OpOverload[] {
  return modules
    .flatMap((module) => Object.values(module))
    .filter((value): value is OpOverload => value instanceof OpOverload);
}

/** All methods by name. The build writes them out (tooling/method-table.mjs), so that pages have no more of the modules. */
export const METHODS: Readonly<Record<string, Method>> = methodsOf(METHOD_MODULES);

/** Operators of these modules that no method names, for who looks for them by name; written out likewise. */
export const METHOD_OPERATORS: readonly OpOverload[] = operatorsOf(METHOD_MODULES);
