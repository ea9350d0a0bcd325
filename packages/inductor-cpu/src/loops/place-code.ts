/**
 * @file Index expressions of schedules as code, written as they are. All are unsigned.
 */
import type { IndexExpr } from '@tessera/inductor-core';
import type { BodyEmitter } from '../body/body-emitter.js';
import { i32, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';

/** A loop bound: known now, or when the code runs. */
export type Bound = Local<'i32'> | number;

/** Spells an index. @throws TypeError for run-time values, which schedules have none of */
export function placeCode(body: BodyEmitter, index: IndexExpr): Code<'i32'> {
  const code = (each: IndexExpr): Code<'i32'> => placeCode(body, each);
  switch (index.kind) {
    case 'int':
      return i32(index.value);
    case 'size':
      return body.sizeLocal(index.size);
    case 'sym':
      return body.scope.variable(index.name);
    case 'add':
      return index.terms
        .slice(1)
        .reduce<Code<'i32'>>((sum, term) => added(sum, term, code), code(index.terms[0]!));
    case 'mul': {
      const [first, ...rest] = index.factors;
      const [by] = rest;
      // A multiple of a power of two: the lower bits are cleared.
      if (first.kind === 'div' && first.den.kind === 'int' && isSame(by, first.den.value))
        return op('i32.and', code(first.num), i32(-first.den.value));
      return rest.reduce((product, factor) => op('i32.mul', product, code(factor)), code(first));
    }
    case 'div':
      return op('i32.div_u', code(index.num), code(index.den));
    case 'mod':
      return op('i32.rem_u', code(index.num), code(index.den));
    case 'value':
      throw new TypeError('schedules have no run-time values in their own indices');
  }
}

function isSame(index: IndexExpr | undefined, value: number): boolean {
  return index?.kind === 'int' && index.value === value && Number.isInteger(Math.log2(value));
}

function added(
  sum: Code<'i32'>,
  term: IndexExpr,
  code: (index: IndexExpr) => Code<'i32'>,
): Code<'i32'> {
  const negated = term.kind === 'mul' && term.factors.length === 2 ? term.factors : undefined;
  if (negated !== undefined && negated[1]!.kind === 'int' && negated[1]!.value === -1)
    return op('i32.sub', sum, code(negated[0]!));
  return op('i32.add', sum, code(term));
}

/** An index as a bound; one that is neither a number, nor in a local, gets one. */
export function boundOf(body: BodyEmitter, index: IndexExpr): Bound {
  if (index.kind === 'int') return index.value;
  if (index.kind === 'size') return body.sizeLocal(index.size);
  if (index.kind === 'sym') return body.scope.variable(index.name);
  return body.f.let('bound', placeCode(body, index));
}
