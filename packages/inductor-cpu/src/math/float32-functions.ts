/**
 * @file The transcendental functions of f32 by IR operation name: which are inline, which are called.
 *
 * Exponentials, logarithm, tanh and erf appear in the inner loops of nearly every network, so they are
 * inlined and interleaved with the rest of the body; others are calls of shared functions in f64, which CPUs have.
 */
import type { ScalarOp } from '@tessera/inductor-core';
import type { Regs, VectorBuilder } from '../body/vector-builder.js';
import { emitFunction } from './emit-program.js';
import { callWide, WIDE_NAMES } from './wide-functions.js';

/** Emits a function of one or two arguments on all registers. */
export type VectorFunction = (vb: VectorBuilder, ...args: readonly Regs[]) => Regs;

/** See the file header. */
export const FLOAT32_FUNCTIONS: Readonly<Partial<Record<ScalarOp, VectorFunction>>> = {
  ...Object.fromEntries(
    ['exp', 'sigmoid', 'tanh', 'erf', 'log'].map((name) => [
      name,
      (vb: VectorBuilder, x: Regs) => emitFunction(vb, name, x),
    ]),
  ),
  ...Object.fromEntries(
    WIDE_NAMES.map((name) => [
      name,
      (vb: VectorBuilder, ...args: readonly Regs[]) => callWide(vb, name, ...args),
    ]),
  ),
};
