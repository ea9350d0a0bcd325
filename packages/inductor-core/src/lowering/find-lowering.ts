/**
 * @file Which lowering an operator has: a registered one, else the built-in one.
 *
 * The built-in tables are plain values, looked up here, so that nothing depends on modules being
 * imported for their side effects.
 */
import { findOp, replayedOp } from '@tessera/tensor/internal';
import type { Expr } from '../ir/expr.js';
import { activationLowerings } from './activation.js';
import { activationGateLowerings } from './activation-gate.js';
import { adaptiveMaxPoolLowerings } from './adaptive-max-pool.js';
import { attentionDecompositions } from './attention.js';
import { comparisonLowerings } from './comparison.js';
import { concatLowerings } from './concat.js';
import { convLowerings } from './conv.js';
import { operandArg, operandExpr } from './elementwise.js';
import { elementaryLowerings } from './elementary.js';
import { distanceLowerings } from './distance.js';
import { embeddingBagLowerings } from './embedding-bag.js';
import { spaceLowerings } from './factory-space.js';
import { gridSampleLowerings } from './grid-sample.js';
import { stridedScatterLowerings } from './strided-scatter.js';
import { triangleLowerings } from './triangle.js';
import { factoryLowerings } from './factory.js';
import { floatPartLowerings } from './float-parts.js';
import { im2colLowerings } from './im2col.js';
import { indexingLowerings } from './indexing.js';
import { layoutLowerings } from './force-stride-order.js';
import { lossDecompositions } from './loss.js';
import { matmulLowerings } from './matmul.js';
import { membershipLowerings } from './membership.js';
import { batchNormDecompositions } from './batch-norm.js';
import { groupNormDecompositions } from './group-norm.js';
import { layerNormDecompositions } from './layer-norm.js';
import { padEdgeLowerings } from './pad-edge.js';
import { pointwiseLowerings } from './pointwise.js';
import { orderLowerings } from './order.js';
import { packedConvLowerings } from './packed-conv.js';
import { poolBackwardLowerings } from './pool-backward.js';
import { poolLowerings } from './pool.js';
import { multinomialLowerings } from './multinomial.js';
import { randomLowerings } from './random.js';
import { reductionLowerings } from './reduction.js';
import { type LoweringFn, registeredLowering, registeredOps } from './registry.js';
import { scanLowerings } from './scan.js';
import { scatterReduceLowerings } from './scatter-reduce.js';
import { scatterLowerings } from './scatter.js';
import { searchLowerings } from './search.js';
import { softmaxDecompositions } from './softmax.js';
import { specialLowerings } from './special.js';
import { upsampleLowerings } from './upsample.js';
import { viewLowerings } from './view.js';

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
  ...embeddingBagLowerings,
  ...viewLowerings,
  ...concatLowerings,
  ...reductionLowerings,
  ...matmulLowerings,
  ...convLowerings,
  ...packedConvLowerings,
  ...layoutLowerings,
  ...poolLowerings,
  ...poolBackwardLowerings,
  ...adaptiveMaxPoolLowerings,
  ...im2colLowerings,
  ...padEdgeLowerings,
  ...upsampleLowerings,
  ...multinomialLowerings,
  ...randomLowerings,
  ...indexingLowerings,
  ...scatterLowerings,
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
