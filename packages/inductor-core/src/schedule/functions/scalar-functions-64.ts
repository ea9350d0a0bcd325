/**
 * @file The scalar functions of targets that compute in 64 bits as well: those of f64 and i64, and in place of the f32
 * functions that are seldom used, shorter and more exact forms by way of f64.
 */
import { ANGLE_REDUCTION } from './angle-reduction.js';
import { CONSTANTS } from './constants.js';
import { DOUBLE_FUNCTIONS } from './double-functions.js';
import { EXPONENTIALS } from './exponentials.js';
import { FLOAT_DIVISION } from './float-division.js';
import { HYPERBOLIC } from './hyperbolic.js';
import { INTEGERS, LONG_FUNCTIONS } from './integers.js';
import { LOGARITHMS } from './logarithms.js';
import { DOUBLE_SIGNS, SPECIAL_VALUES } from './special-values.js';
import { WIDE_FUNCTIONS } from './wide-functions.js';
import { WIDE_PARTS } from './wide-parts.js';
import type { FunctionTable } from './program.js';

/** Functions by name. */
export const SCALAR_FUNCTIONS_64: FunctionTable = {
  ...CONSTANTS,
  ...SPECIAL_VALUES,
  ...FLOAT_DIVISION,
  ...INTEGERS,
  ...LONG_FUNCTIONS,
  ...EXPONENTIALS,
  ...LOGARITHMS,
  ...HYPERBOLIC,
  ...ANGLE_REDUCTION,
  ...WIDE_PARTS,
  ...WIDE_FUNCTIONS,
  ...DOUBLE_SIGNS,
  ...DOUBLE_FUNCTIONS,
};
