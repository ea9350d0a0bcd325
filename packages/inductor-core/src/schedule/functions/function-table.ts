/**
 * @file Reading the table of scalar functions: each is written once, as a program over primitive operations.
 *
 * A row says how far a result may be from the exact one (in units in the last place) on any target; rows without that
 * are parts of other functions. A target names the rows that it uses, so that a page carries no others.
 */
import { TesseraError } from '@tessera/shared';
import { parseProgram } from './parse-program.js';
import type { FunctionTarget, ScalarProgram, ScalarType } from './program.js';

const programs = new WeakMap<FunctionTarget, Map<string, ScalarProgram>>();

function textOf(name: string, target: FunctionTarget): string {
  const row = target.functions[name];
  if (row === undefined)
    throw new TesseraError('kernel-missing', `There is no scalar function '${name}'.`, {
      context: { name },
      hints: ['The functions are the rows of `schedule/functions`.'],
    });
  return typeof row.text === 'string' ? row.text : row.text(target);
}

/** The program of a function for a target, read when first used. @throws kernel-missing when there is no such function */
export function functionProgram(name: string, target: FunctionTarget): ScalarProgram {
  let known = programs.get(target);
  if (known === undefined) programs.set(target, (known = new Map<string, ScalarProgram>()));
  let program = known.get(name);
  if (program === undefined) {
    const resultOf = (callee: string): ScalarType =>
      /->\s*(\w+)/.exec(textOf(callee, target))![1] as ScalarType;
    const parsed = parseProgram(textOf(name, target), resultOf);
    program = { ...parsed, called: target.functions[name]!.called === true };
    known.set(name, program);
  }
  return program;
}
