/**
 * @file Operators by names that come from elsewhere: a graph or a plan in a file, a program's own text.
 *
 * Bundlers drop operators that nothing uses (tooling/pure-definitions.mjs). Whoever looks up any name uses all of them,
 * which this module says by naming every file of operators. Linear algebra and Fourier transforms are entries of their own.
 */
import * as activationBackward from './ops/activation/backward.js';
import * as activationSmoothBackward from './ops/activation/smooth-backward.js';
import * as arrangeJoinStack from './ops/arrange/join-stack.js';
import * as arrangeJoin from './ops/arrange/join.js';
import * as arrangeMeshgrid from './ops/arrange/meshgrid.js';
import * as arrangePixelShuffle from './ops/arrange/pixel-shuffle.js';
import * as attention from './ops/attention/attention.js';
import * as attentionFlash from './ops/attention/flash.js';
import * as convolutionComposite from './ops/convolution/composite.js';
import * as convolution from './ops/convolution/convolution.js';
import * as convolutionIm2col from './ops/convolution/im2col.js';
import * as factory from './ops/factory/factory.js';
import * as factoryRange from './ops/factory/range.js';
import * as factorySpace from './ops/factory/space.js';
import * as indexingEmbeddingBag from './ops/indexing/embedding-bag.js';
import * as indexingEmbedding from './ops/indexing/embedding.js';
import * as indexing from './ops/indexing/indexing.js';
import * as indexingOneHot from './ops/indexing/one-hot.js';
import * as lossCrossEntropy from './ops/loss/cross-entropy.js';
import * as lossDivergence from './ops/loss/divergence.js';
import * as lossMargin from './ops/loss/margin.js';
import * as lossMultiMargin from './ops/loss/multi-margin.js';
import * as lossNll from './ops/loss/nll.js';
import * as lossPointwise from './ops/loss/pointwise.js';
import * as matmulBilinear from './ops/matmul/bilinear.js';
import * as matmulCrossOp from './ops/matmul/cross-op.js';
import * as matmulDistance from './ops/matmul/distance.js';
import * as matmulEinsum from './ops/matmul/einsum.js';
import * as matmulPairs from './ops/matmul/pairs.js';
import * as matmulWeightOnly from './ops/matmul/weight-only.js';
import * as normBatchPrimitive from './ops/norm/batch-primitive.js';
import * as normBatch from './ops/norm/batch.js';
import * as normGroup from './ops/norm/group.js';
import * as normInstance from './ops/norm/instance.js';
import * as normLayer from './ops/norm/layer.js';
import * as orderSearchSorted from './ops/order/search-sorted.js';
import * as pointwiseMembership from './ops/pointwise/membership.js';
import * as pointwiseModifiedBesselI from './ops/pointwise/modified-bessel-i.js';
import * as pointwisePolygamma from './ops/pointwise/polygamma.js';
import * as pointwiseRsub from './ops/pointwise/rsub.js';
import * as pointwiseWhere from './ops/pointwise/where.js';
import * as poolAdaptiveMax from './ops/pool/adaptive-max.js';
import * as poolAdaptive from './ops/pool/adaptive.js';
import * as poolAverage from './ops/pool/average.js';
import * as poolMax from './ops/pool/max.js';
import * as random from './ops/random/random.js';
import * as randomSample from './ops/random/sample.js';
import * as recurrentCtc from './ops/recurrent/ctc.js';
import * as recurrentLayer from './ops/recurrent/layer.js';
import * as resampleGridSampler from './ops/resample/grid-sampler.js';
import * as resamplePad from './ops/resample/pad.js';
import * as resamplePadEdge from './ops/resample/pad-edge.js';
import * as resampleUpsample from './ops/resample/upsample.js';
import * as scanGradient from './ops/scan/gradient.js';
import * as scanTrapezoid from './ops/scan/trapezoid.js';
import * as viewAlias from './ops/view/alias.js';
import * as viewCopy from './ops/view/copy.js';
import { OpOverload, findOp as findRegistered, getOp as getRegistered } from './op/op-overload.js';
import { METHODS, METHOD_OPERATORS } from './tensor-methods.js';

/** The modules that define operators. */
const operatorModules = (): readonly object[] => [
  METHODS,
  METHOD_OPERATORS,
  activationBackward,
  activationSmoothBackward,
  arrangeJoinStack,
  arrangeJoin,
  arrangeMeshgrid,
  arrangePixelShuffle,
  attention,
  attentionFlash,
  convolutionComposite,
  convolution,
  convolutionIm2col,
  factory,
  factoryRange,
  factorySpace,
  indexingEmbeddingBag,
  indexingEmbedding,
  indexing,
  indexingOneHot,
  lossCrossEntropy,
  lossDivergence,
  lossMargin,
  lossMultiMargin,
  lossNll,
  lossPointwise,
  matmulBilinear,
  matmulCrossOp,
  matmulDistance,
  matmulEinsum,
  matmulPairs,
  matmulWeightOnly,
  normBatchPrimitive,
  normBatch,
  normGroup,
  normInstance,
  normLayer,
  orderSearchSorted,
  pointwiseMembership,
  pointwiseModifiedBesselI,
  pointwisePolygamma,
  pointwiseRsub,
  pointwiseWhere,
  poolAdaptiveMax,
  poolAdaptive,
  poolAverage,
  poolMax,
  random,
  randomSample,
  recurrentCtc,
  recurrentLayer,
  resampleGridSampler,
  resamplePad,
  resamplePadEdge,
  resampleUpsample,
  scanGradient,
  scanTrapezoid,
  viewAlias,
  viewCopy,
];

/** The overload of a name among what modules export, for names that no registration has made known. */
function exported(name: string): OpOverload | undefined {
  return operatorModules()
    .flatMap((module): unknown[] => Object.values(module))
    .find(
      (value): value is OpOverload => value instanceof OpOverload && value.qualifiedName === name,
    );
}

/** The overload of a qualified name (`aten::add.Tensor`). A page that calls this has all operators. @throws op-unknown */
export function getOp(qualifiedName: string): OpOverload {
  return findAnyOp(qualifiedName) ?? getRegistered(qualifiedName);
}

/** The overload of any qualified name, or undefined. */
export function findAnyOp(qualifiedName: string): OpOverload | undefined {
  return findRegistered(qualifiedName) ?? exported(qualifiedName);
}
