/**
 * @file Dead code elimination as a pass; also drops attributes that nothing refers to.
 */
import { eliminateDeadCode } from '@tessera/graph';
import type { Pass } from './pass.js';

/** The pass. */
export const dce: Pass = {
  name: 'dce',
  run(module) {
    const nodes = eliminateDeadCode(module.graph);
    return module.removeUnusedAttributes() + nodes > 0;
  },
};
