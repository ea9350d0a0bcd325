/**
 * @file The order of the built-in passes, on one screen.
 */
import { constantFolding } from './constant-folding.js';
import { cse } from './cse.js';
import { dce } from './dce.js';
import { noopRemoval } from './noop-removal.js';
import type { Pass } from './pass.js';
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
