/**
 * @file Which lowering an operator has: a registered one, else the built-in one.
 *
 * The built-in tables are plain values, looked up here, so that nothing depends on modules being
 * imported for their side effects.
 */
import { findOp, replayedOp } from '@tessera/tensor/internal';
import type { Expr } from '../ir/expr.js';
import { activationLowerings } from './ops/activation.js';
import { activationGateLowerings } from './ops/activation-gate.js';
import { adaptiveMaxPoolLowerings } from './ops/adaptive-max-pool.js';
import { attentionDecompositions } from './ops/attention.js';
import { comparisonLowerings } from './ops/comparison.js';
import { concatLowerings } from './ops/concat.js';
import { convLowerings } from './ops/conv.js';
import { operandArg, operandExpr } from './ops/elementwise.js';
import { elementaryLowerings } from './ops/elementary.js';
import { distanceLowerings } from './ops/distance.js';
import { embeddingBackwardLowerings } from './ops/embedding-backward.js';
import { SIZED_BAGS, embeddingBagLowerings } from './ops/embedding-bag.js';
import { embeddingRenormLowerings } from './ops/embedding-renorm.js';
import { SIZED_SPACES, spaceLowerings } from './ops/factory-space.js';
import { gridSampleLowerings } from './ops/grid-sample.js';
import { stridedScatterLowerings } from './ops/strided-scatter.js';
import { triangleLowerings } from './ops/triangle.js';
import { SIZED_FACTORIES, factoryLowerings } from './ops/factory.js';
import { floatPartLowerings } from './ops/float-parts.js';
import { im2colLowerings } from './ops/im2col.js';
import { indexingLowerings } from './ops/indexing.js';
import { layoutLowerings } from './ops/force-stride-order.js';
import { logScanLowerings } from './ops/log-scan.js';
import { lossDecompositions } from './ops/loss.js';
import { matmulLowerings } from './ops/matmul.js';
import { weightOnlyLowerings } from './ops/weight-only.js';
import { membershipLowerings } from './ops/membership.js';
import { batchNormDecompositions } from './ops/batch-norm.js';
import { groupNormDecompositions } from './ops/group-norm.js';
import { SIZED_NORMS, layerNormDecompositions } from './ops/layer-norm.js';
import { SIZED_SCATTERS, padAndScatterLowerings } from './ops/pad-and-scatter.js';
import { padEdgeLowerings } from './ops/pad-edge.js';
import { SIZED_ARITHMETIC, pointwiseLowerings } from './ops/pointwise.js';
import { orderLowerings } from './ops/order.js';
import { packedConvLowerings } from './ops/packed-conv.js';
import { poolBackwardLowerings } from './ops/pool-backward.js';
import { SIZED_POOLS, adaptiveAvgPoolLowerings } from './ops/adaptive-avg-pool.js';
import { poolLowerings } from './ops/pool.js';
import { multinomialLowerings } from './ops/multinomial.js';
import { SIZED_DRAWS, randomLowerings } from './ops/random.js';
import { ctcLowerings } from './ops/ctc.js';
import { recurrentLowerings } from './ops/recurrent.js';
import { reductionLowerings } from './ops/reduction.js';
import { type LoweringFn, registeredLowering, registeredOps } from './registry.js';
import { scanLowerings } from './ops/scan.js';
import { scatterReduceLowerings } from './ops/scatter-reduce.js';
import { indexPutLowerings } from './ops/index-put.js';
import { scatterLowerings } from './ops/scatter.js';
import { searchLowerings } from './ops/search.js';
import { softmaxDecompositions } from './ops/softmax.js';
import { specialLowerings } from './ops/special.js';
import { SIZED_RESIZING, upsampleLowerings } from './ops/upsample.js';
import { SIZED_AVERAGES, antialiasedLowerings } from './ops/upsample-antialiased.js';
import { SIZED_VIEWS, viewLowerings } from './ops/view.js';

/** Lowerings proper. */
const LOWERINGS: Readonly<Record<string, LoweringFn>> = {
  ...pointwiseLowerings,
  ...comparisonLowerings,
  ...elementaryLowerings,
  ...floatPartLowerings,
  ...specialLowerings,
  ...membershipLowerings,
  ...activationLowerings,
  ...activationGateLowerings,
  ...factoryLowerings,
  ...spaceLowerings,
  ...triangleLowerings,
  ...distanceLowerings,
  ...gridSampleLowerings,
  ...stridedScatterLowerings,
  ...embeddingBackwardLowerings,
  ...embeddingBagLowerings,
  ...viewLowerings,
  ...concatLowerings,
  ...padAndScatterLowerings,
  ...recurrentLowerings,
  ...ctcLowerings,
  ...reductionLowerings,
  ...matmulLowerings,
  ...weightOnlyLowerings,
  ...convLowerings,
  ...packedConvLowerings,
  ...layoutLowerings,
  ...poolLowerings,
  ...adaptiveAvgPoolLowerings,
  ...poolBackwardLowerings,
  ...adaptiveMaxPoolLowerings,
  ...im2colLowerings,
  ...padEdgeLowerings,
  ...upsampleLowerings,
  ...antialiasedLowerings,
  ...embeddingRenormLowerings,
  ...logScanLowerings,
  ...multinomialLowerings,
  ...randomLowerings,
  ...indexingLowerings,
  ...scatterLowerings,
  ...indexPutLowerings,
  ...scatterReduceLowerings,
  ...scanLowerings,
  ...searchLowerings,
  ...orderLowerings,
};

/** Operators written in terms of others. */
const DECOMPOSITIONS: Readonly<Record<string, LoweringFn>> = {
  ...softmaxDecompositions,
  ...layerNormDecompositions,
  ...batchNormDecompositions,
  ...groupNormDecompositions,
  ...lossDecompositions,
  ...attentionDecompositions,
};

/** Operators whose lowerings take symbolic sizes among their arguments; others get numbers, which fixes the symbols. */
const TAKE_SIZES: ReadonlySet<string> = new Set([
  ...SIZED_FACTORIES,
  ...SIZED_VIEWS,
  ...SIZED_ARITHMETIC,
  ...SIZED_SCATTERS,
  ...SIZED_NORMS,
  ...SIZED_SPACES,
  ...SIZED_RESIZING,
  ...SIZED_AVERAGES,
  ...SIZED_BAGS,
  ...SIZED_POOLS,
  ...SIZED_DRAWS,
]);

/** Whether the built-in lowering of an operator takes symbolic sizes among its arguments. */
export function takesSizes(op: string): boolean {
  return TAKE_SIZES.has(op) && registeredLowering(op) === undefined;
}

/** How an operator is lowered, if it is. */
export function findLowering(op: string): LoweringFn | undefined {
  return knownLowering(op) ?? replayLowering(op);
}

function knownLowering(op: string): LoweringFn | undefined {
  return registeredLowering(op) ?? LOWERINGS[op] ?? DECOMPOSITIONS[op];
}

/** A random op that repeats an earlier draw lowers like the op, with the state that it is given. */
function replayLowering(op: string): LoweringFn | undefined {
  const replay = findOp(op);
  const original = replay === undefined ? undefined : replayedOp(replay)?.qualifiedName;
  const lower = original === undefined ? undefined : knownLowering(original);
  if (lower === undefined) return undefined;
  return (l, [seed, offset, draw, ...args], call) => {
    const scalar = (arg: typeof seed): Expr =>
      operandExpr(l, operandArg(arg!, call.op), [], 'int64');
    const number = l.ir.const('int64', Number(draw));
    l.replay = { seed: scalar(seed), offset: l.ir.op('add', [scalar(offset), number]) };
    try {
      return lower(l, args, { ...call, op: original! });
    } finally {
      l.replay = null;
    }
  };
}

/** Names of all operators that lower, sorted. */
export function loweredOps(): string[] {
  return [
    ...new Set([...registeredOps(), ...Object.keys(LOWERINGS), ...Object.keys(DECOMPOSITIONS)]),
  ].sort();
}
