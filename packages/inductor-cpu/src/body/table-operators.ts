/**
 * @file Operators that are rows of inductor-core's table of scalar functions.
 */
import type { ScalarOp } from '@tessera/inductor-core';
import { emitFunction } from '../math/vector-program.js';
import type { Operator, Operators } from './operator.js';

/** The operators of these names; a row's name is the operator's with `suffix`. */
export function tableOperators(names: readonly ScalarOp[], suffix: string): Operators {
  return Object.fromEntries(
    names.map((name): [string, Operator] => [
      name,
      (vb, args) => {
        const uniform = args.every((arg) => arg.uniform);
        const regs = args.map((arg) => arg.regs);
        return emitFunction(vb, `${name}${suffix}`, regs, uniform);
      },
    ]),
  );
}
