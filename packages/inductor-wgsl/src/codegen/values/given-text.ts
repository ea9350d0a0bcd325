/** @file What a routine gives, in WGSL. */
import type { Condition, RegisterStmt } from '@tessera/inductor-core';
import { wideText } from './buffer-access.js';
import type { ExprEmitter } from './expr-emitter.js';
import { halfVector } from '../matrices/half-values.js';
import { literal } from './literals.js';
import type { ScheduleNames } from '../scheduled/schedule-names.js';
import { widen } from './value.js';
import type { LoadExpr } from './wide-halves.js';
import { typeName } from './wgsl-types.js';

/** Four halves, or what is read eight halves at a time, as words. */
export interface Loaded {
  readonly vector: 'vec4h' | 'vec4u';
  readonly wide: LoadExpr | null;
}

/** Text of where a condition holds, of each of four values if it is of a variable that differs. */
function insideText(where: Condition, emitter: ExprEmitter, names: ScheduleNames): string {
  if (where.kind !== 'below' || where.index.kind !== 'sym') return names.condition(where);
  const { index, limit } = where;
  const wide = names.isOfKernel(index.name)
    ? emitter.indexLanes(index).text
    : names.isWide(index.name)
      ? names.place(index)
      : null;
  return wide === null ? names.condition(where) : `${wide} < vec4u(${names.place(limit)})`;
}

/** Lines that end a routine. */
export function givenText(
  { value: expr, where, otherwise = 0 }: Extract<RegisterStmt, { kind: 'give' }>,
  emitter: ExprEmitter,
  names: ScheduleNames,
  loaded?: Loaded,
): string {
  if (loaded?.wide != null) {
    const end = where === undefined ? '' : `if (${names.opposite(where)}) { return vec4u(0); }\n`;
    const { buf, index } = loaded.wide;
    return `${end}return ${wideText(emitter.builder.buffer(buf), emitter.indexBase(index))};`;
  }
  const found = loaded === undefined ? emitter.value(expr) : null;
  if (found?.type === 'bool') return `return ${found.text};`;
  const vector = loaded?.vector ?? typeName(found!.type, 4);
  const value = found === null ? halfVector(emitter, expr) : widen(found, 4);
  if (where === undefined) return `return ${value};`;
  const helper = (name: string): string => `${emitter.helper(name, 1)}()`;
  const other = `${vector}(${otherwise === 0 ? 0 : literal(otherwise, 'f32', helper)})`;
  return `return select(${other}, ${value}, ${insideText(where, emitter, names)});`;
}
