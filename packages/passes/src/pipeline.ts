/**
 * @file The order of the built-in passes, on one screen.
 */
import { addmmFusion } from './addmm-fusion.js';
import { capturedAttention } from './attention-captured.js';
import { catSplit } from './cat-split.js';
import { passesConfig } from './config.js';
import { constantFolding } from './constant-folding.js';
import { cse } from './cse.js';
import { customPass } from './custom-pass.js';
import { dce } from './dce.js';
import { convBinaryFolding } from './freezing/conv-binary-folding.js';
import { convBnFolding } from './freezing/conv-bn-folding.js';
import { freezingCode, hasFreezing } from './freezing/freezing-code.js';
import { horizontalMerging } from './freezing/horizontal-merging.js';
import { weightPrepacking } from './freezing/weight-prepacking.js';
import { layoutOptimization } from './layout-optimization.js';
import { matmulEpilogue } from './matmul-epilogue.js';
import { noopRemoval } from './noop-removal.js';
import type { Pass } from './pass.js';
import { sharedHeads } from './shared-heads.js';
import { viewFolding } from './view-folding.js';

/** On the joint graph, before it is partitioned: what saves work in forward and backward alike. */
export const jointPasses: readonly Pass[] = [
  noopRemoval, //       detach, views to the same shape, x * 1
  viewFolding, //       transposes of transposes
  constantFolding(), // what depends on constants alone
  cse, //               the same value computed twice: transposes, masks, casts
  dce, //               what the others left
];

/** On each graph that goes to a backend. */
export const postGradPasses: readonly Pass[] = [
  noopRemoval, //       what partitioning made redundant
  cse,
  dce,
];

/** Patterns on captured graphs: what is differentiated otherwise than its parts. */
const preGradPatterns: readonly Pass[] = [
  capturedAttention, // softmax(q kᵀ · c) v as one operator
  sharedHeads, //       its keys and values read where they are, not repeated
];

/** Patterns on the joint graph: what needs the user's whole expression. Who can do more with their operators brings them. */
const jointPatterns = new Set<Pass>();

/** Makes a pass one of the joint graph's patterns. */
export function addJointPattern(pass: Pass): void {
  jointPatterns.add(pass);
}

/** Patterns on each graph that goes to a backend. */
const postGradPatterns: readonly Pass[] = [
  catSplit, //          joins that are cut again, and the reverse
  addmmFusion, //       products plus a bias
  matmulEpilogue, //    scaled products plus something
  dce,
];

/** On captured graphs of ops as the program called them. */
export function preGradPipeline(): readonly Pass[] {
  return [
    ...customPass('preGradCustomPass', passesConfig.preGradCustomPass),
    ...(passesConfig.patternMatcher ? preGradPatterns : []),
  ];
}

/** `jointPasses` with the user's. Layouts of graphs that are frozen next are chosen there. */
export function jointPipeline({
  freezes = false,
}: { readonly freezes?: boolean } = {}): readonly Pass[] {
  return [
    ...customPass('jointCustomPrePass', passesConfig.jointCustomPrePass),
    ...jointPasses,
    ...(passesConfig.patternMatcher && jointPatterns.size > 0 ? [...jointPatterns, dce] : []),
    ...(freezes ? [] : layouts()),
    ...customPass('jointCustomPostPass', passesConfig.jointCustomPostPass),
  ];
}

/** Convolutions and what follows them channels last. */
function layouts(): readonly Pass[] {
  const { layoutOptimization: wanted, forceLayoutOptimization: forced } = passesConfig;
  return wanted === true || forced || hasFreezing()
    ? [freezingCode('layoutOptimization').layoutOptimization(false)]
    : [];
}

/** On graphs whose parameters have become constants. */
export function freezingPipeline(): readonly Pass[] {
  return [
    frozenConstants, //   what depends on parameters alone
    convBnFolding, //     batch norm behind a convolution
    convBinaryFolding, // and arithmetic with constants
    frozenConstants, //   the constants that these made
    horizontalMerging, // products of one value with several weights
    weightPrepacking, //  convolutions of constants
    layoutOptimization(true), // these and what follows them channels last
    frozenConstants, //   weights in the layout that they are read in
    dce, //               parameters that nobody reads any more
  ];
}

/** On each graph that a code generator gets: `postGradPasses` with the user's. */
export function postGradPipeline(): readonly Pass[] {
  return [
    ...customPass('postGradCustomPrePass', passesConfig.postGradCustomPrePass),
    ...postGradPasses,
    ...(passesConfig.patternMatcher ? postGradPatterns : []),
    ...customPass('postGradCustomPostPass', passesConfig.postGradCustomPostPass),
  ];
}

/** Parameters are large, and folding them saves their computation on every call. */
const frozenConstants = constantFolding({ maxElements: 2 ** 27 });
