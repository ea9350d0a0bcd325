/**
 * @file The `prune` namespace.
 */
export {
  type ScoreOptions,
  apply,
  customFromMask,
  globalUnstructured,
  identity,
  isPruned,
  l1Unstructured,
  lnStructured,
  randomStructured,
  randomUnstructured,
  remove,
} from './prune.js';
export {
  type Amount,
  CustomFromMask,
  Identity,
  L1Unstructured,
  LnStructured,
  type LnStructuredOptions,
  type PruningMethod,
  RandomStructured,
  RandomUnstructured,
  type StructuredOptions,
} from './pruning-method.js';
