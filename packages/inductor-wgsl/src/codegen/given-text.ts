/** @file What a routine gives, in WGSL. */
import type { RegisterStmt } from '@tessera/inductor-core';
import { wideText } from './buffer-access.js';
import type { ExprEmitter } from './expr-emitter.js';
import { halfVector } from './half-values.js';
import type { ScheduleNames } from './schedule-names.js';
import { widen } from './value.js';
import type { LoadExpr } from './wide-halves.js';
import { typeName } from './wgsl-types.js';

/** Four halves, or what is read eight halves at a time, as words. */
export interface Loaded {
  readonly vector: 'vec4h' | 'vec4u';
  readonly wide: LoadExpr | null;
}

/** Lines that end a routine. */
export function givenText(
  { value: expr, where }: Extract<RegisterStmt, { kind: 'give' }>,
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
  const isWide =
    where.kind === 'below' && where.index.kind === 'sym' && names.isOfKernel(where.index.name);
  const inside = isWide
    ? `${emitter.indexLanes(where.index).text} < vec4u(${names.place(where.limit)})`
    : names.condition(where);
  return `return select(${vector}(0), ${value}, ${inside});`;
}
