/**
 * @file The scalar functions of 32 bits, which every target can have.
 *
 * To add one, add its row to a file of this folder and its bound to `test/scalar-functions.test.ts`, which measures
 * every row in the interpreter: all targets that take the whole table have it then.
 */
import { ANGLE_REDUCTION } from './angle-reduction.js';
import { CONSTANTS } from './constants.js';
import { EXPONENTIALS } from './exponentials.js';
import { FLOAT_DIVISION } from './float-division.js';
import { HALF_ROUNDING } from './half-rounding.js';
import { HYPERBOLIC } from './hyperbolic.js';
import { INTEGERS } from './integers.js';
import { LOGARITHMS } from './logarithms.js';
import { PHILOX } from './philox.js';
import { POWER } from './power.js';
import { SPECIAL_VALUES } from './special-values.js';
import { TRIGONOMETRIC } from './trigonometric.js';
import type { FunctionTable } from './program.js';

/** Functions by name. */
export const SCALAR_FUNCTIONS: FunctionTable = {
  ...CONSTANTS,
  ...SPECIAL_VALUES,
  ...HALF_ROUNDING,
  ...FLOAT_DIVISION,
  ...INTEGERS,
  ...EXPONENTIALS,
  ...LOGARITHMS,
  ...POWER,
  ...HYPERBOLIC,
  ...ANGLE_REDUCTION,
  ...TRIGONOMETRIC,
  ...PHILOX,
};
