/**
 * @file Public API of `@tessera/passes`: graph passes over the Tessera IR.
 */
export type { Pass } from './pass.js';
export { runPasses } from './run-passes.js';
export { jointPasses, postGradPasses } from './pipeline.js';
export { cse, fxGraphCse } from './cse.js';
export { dce } from './dce.js';
export { type ConstantFoldingOptions, constantFolding, foldConstants } from './constant-folding.js';
export { noopRemoval, removeNoops } from './noop-removal.js';
export { foldViews, viewFolding } from './view-folding.js';
export { AliasSets, aliasedInputs, writtenInputs } from './alias-sets.js';
export { hashCall, sameArgument, sameCall, sameLayout } from './structural-key.js';
