/**
 * @file The table of scalar functions: each is written once, as a program over primitive operations, for all targets.
 *
 * To add a function, add its row to a file of this folder and its bound to `test/scalar-functions.test.ts`, which
 * measures every row in the interpreter: all targets have it then. A row says how far a result may be from the exact
 * one (in units in the last place) on any target; rows without that are parts of other functions.
 */
import { TesseraError } from '@tessera/shared';
import { ANGLE_REDUCTION } from './angle-reduction.js';
import { EXPONENTIALS } from './exponentials.js';
import { FLOAT_DIVISION } from './float-division.js';
import { HALF_ROUNDING } from './half-rounding.js';
import { HYPERBOLIC } from './hyperbolic.js';
import { INTEGERS } from './integers.js';
import { LOGARITHMS } from './logarithms.js';
import { parseProgram } from './parse-program.js';
import { PHILOX } from './philox.js';
import { POWER } from './power.js';
import type { FunctionTarget, ScalarProgram, ScalarType } from './program.js';
import { SPECIAL_VALUES } from './special-values.js';
import { TRIGONOMETRIC } from './trigonometric.js';

/** One function. */
export interface FunctionRow {
  /** Largest error in units in the last place; 0 is exact. */
  readonly ulp?: number;
  /** Most calls of the function that calls this one do not need it: it is called, not written in place. */
  readonly rare?: boolean;
  /** The program, in the notation of `parse-program.ts`; it may depend on facts about the target. */
  readonly text: string | ((target: FunctionTarget) => string);
}

/** Functions by name. */
export type FunctionTable = Readonly<Record<string, FunctionRow>>;

/** NaN and infinity are functions, because some targets have no constants for them. */
const CONSTANTS: FunctionTable = {
  nan: { text: 'fn nan() -> f32 { return bitcast<f32>(0x7fc00000u); }' },
  inf: { text: 'fn inf() -> f32 { return bitcast<f32>(0x7f800000u); }' },
};

/** See the file header. */
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

const programs = new Map<string, ScalarProgram>();

function textOf(name: string, target: FunctionTarget): string {
  const row = SCALAR_FUNCTIONS[name];
  if (row === undefined)
    throw new TesseraError('kernel-missing', `There is no scalar function '${name}'.`, {
      context: { name },
      hints: ['The functions are the rows of `schedule/functions`.'],
    });
  return typeof row.text === 'string' ? row.text : row.text(target);
}

/** The program of a function for a target, read when first used. @throws kernel-missing when there is no such function */
export function functionProgram(name: string, target: FunctionTarget): ScalarProgram {
  const key = `${name} ${target.ieee}`;
  let program = programs.get(key);
  if (program === undefined) {
    const resultOf = (callee: string): ScalarType =>
      /-> (\w+)/.exec(textOf(callee, target))![1] as ScalarType;
    const parsed = parseProgram(textOf(name, target), resultOf);
    program = { ...parsed, rare: SCALAR_FUNCTIONS[name]!.rare === true };
    programs.set(key, program);
  }
  return program;
}
