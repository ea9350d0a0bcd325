/**
 * @file NaN and infinity as scalar functions.
 */
import type { FunctionTable } from './program.js';

/** NaN and infinity are functions, because some targets have no constants for them. */
export const CONSTANTS: FunctionTable = {
  nan: { text: 'fn nan() -> f32 { return bitcast<f32>(0x7fc00000u); }' },
  inf: { text: 'fn inf() -> f32 { return bitcast<f32>(0x7f800000u); }' },
};
