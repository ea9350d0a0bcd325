/**
 * @file eˣ for arguments that are known to be at most zero: what softmax needs.
 */
import type { Regs, VectorBuilder } from '../body/vector-builder.js';
import { emitFunction } from './emit-program.js';

/** eˣ for x ≤ 0 (and up to 40); anything above is wrong. */
export function emitExpNonPositive(vb: VectorBuilder, x: Regs): Regs {
  return emitFunction(vb, 'exp_non_positive', x);
}
