/**
 * @file Public API of `@tessera/passes`: graph passes over the Tessera IR.
 */
export type { Pass } from './pass.js';
export { type PassObserver, observePasses, passSteps, runPasses } from './run-passes.js';
export {
  freezingPipeline,
  jointPasses,
  jointPipeline,
  postGradPasses,
  postGradPipeline,
  preGradPipeline,
} from './pipeline.js';
export { type CustomPass, type PassesConfig, passesConfig } from './config.js';

// Pattern matcher
export {
  Arg,
  CallFunction,
  Ignored,
  KeywordArg,
  ListOf,
  MultiOutput,
  Pattern,
  type PatternArgument,
  type PatternTarget,
  type UserCount,
} from './pattern/pattern.js';
export { Match } from './pattern/match.js';
export {
  type ExtraCheck,
  type PatternEntry,
  PatternMatcherPass,
  type PatternOptions,
  registerGraphPattern,
} from './pattern/pattern-matcher-pass.js';
export {
  type LoweringHandler,
  type PatternLowering,
  loweringOf,
  registerLoweringPattern,
} from './pattern/lowering-pattern.js';
export { type ReplacementOptions, registerReplacement } from './pattern/replacement.js';

// Passes
export { cse, fxGraphCse } from './cse.js';
export { dce } from './dce.js';
export { type ConstantFoldingOptions, constantFolding, foldConstants } from './constant-folding.js';
export { noopRemoval, removeNoops } from './noop-removal.js';
export { foldViews, viewFolding } from './view-folding.js';
export { hashCall, sameArgument, sameCall, sameLayout } from './structural-key.js';
export { addmmFusion } from './addmm-fusion.js';
export { attentionFusion } from './attention.js';
export { useAttentionFusion } from './use-attention.js';
export { capturedAttention } from './attention-captured.js';
export { shareHeads, sharedHeads } from './shared-heads.js';
export { catSplit } from './cat-split.js';
export { matmulEpilogue } from './matmul-epilogue.js';
export { type LayoutUse, layoutOptimization } from './layout-optimization.js';

// Freezing
export { freezingCode } from './freezing/freezing-code.js';
export { useFreezing } from './freezing/use-freezing.js';
export { discardFor, discardFrozen } from './freezing/discard.js';
export {
  type FreezeOptions,
  type GraphFunction,
  freezeFunction,
} from './freezing/frozen-function.js';
export { convBnFolding, foldConvBn } from './freezing/conv-bn-folding.js';
export { convBinaryFolding, foldConvBinary } from './freezing/conv-binary-folding.js';
export { horizontalMerging, mergeProducts } from './freezing/horizontal-merging.js';
export { weightPrepacking } from './freezing/weight-prepacking.js';

// Operators that passes emit
export { activationOf, convolutionPointwise } from './ops/convolution-pointwise.js';
export { forceStrideOrder } from './ops/force-stride-order.js';
