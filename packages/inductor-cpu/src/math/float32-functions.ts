/**
 * @file The transcendental functions of f32 by IR operation name: which are inline, which are called.
 *
 * Exponentials, logarithm, tanh and erf appear in the inner loops of nearly every network, so they are
 * inlined and interleaved with the rest of the body; others are calls of shared functions.
 */
import type { ScalarOp } from '@tessera/inductor-core';
import type { Regs, VectorBuilder } from '../body/vector-builder.js';
import { emitErf, emitExp, emitSigmoid, emitTanh } from './exponential.js';
import { emitLog } from './logarithm.js';
import { callWide, WIDE_NAMES } from './wide-functions.js';

/** Emits a function of one or two arguments on all registers. */
export type VectorFunction = (vb: VectorBuilder, ...args: readonly Regs[]) => Regs;

/** See the file header. */
export const FLOAT32_FUNCTIONS: Readonly<Partial<Record<ScalarOp, VectorFunction>>> = {
  exp: (vb, x) => emitExp(vb, x as Regs),
  sigmoid: (vb, x) => emitSigmoid(vb, x as Regs),
  tanh: (vb, x) => emitTanh(vb, x as Regs),
  erf: (vb, x) => emitErf(vb, x as Regs),
  log: (vb, x) => emitLog(vb, x as Regs),
  ...Object.fromEntries(
    WIDE_NAMES.map((name) => [
      name,
      (vb: VectorBuilder, ...args: readonly Regs[]) => callWide(vb, name, ...args),
    ]),
  ),
};
