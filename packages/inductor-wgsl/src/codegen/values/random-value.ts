/** @file Random numbers as calls of functions of the library. */
import type { Expr } from '@tessera/inductor-core';
import type { ExprEmitter } from './expr-emitter.js';
import type { Value } from './value.js';
import { typeName, type Width } from './wgsl-types.js';

/** Numbers of a distribution: functions of seed, offset and place. */
export function randomValue(emitter: ExprEmitter, expr: Extract<Expr, { kind: 'random' }>): Value {
  const seed = emitter.value(expr.seed);
  const offset = emitter.value(expr.offset);
  const index =
    emitter.context.access(expr.index).stride === 0
      ? { text: emitter.indexBase(expr.index), width: 1 }
      : emitter.indexLanes(expr.index);
  const width: Width = seed.width === 4 || offset.width === 4 || index.width === 4 ? 4 : 1;
  const u32 = typeName('u32', width);
  const args = [seed, offset].map((value) => ({
    text: `${typeName('u32', value.width)}(${value.text})`,
    width: value.width,
  }));
  const texts = [...args, index].map((arg) =>
    arg.width === width ? arg.text : `${u32}(${arg.text})`,
  );
  return {
    text: `${emitter.helper(expr.distribution, width)}(${texts.join(', ')})`,
    type: 'f32',
    width,
    atom: false,
  };
}
