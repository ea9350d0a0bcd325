/**
 * @file Stores: converts values to a buffer's element type and writes them, one or four at a time.
 *
 * Values and indices are emitted where the emitter stands; the writes themselves are collected so that
 * all stores of a body share one guard.
 */
import type { Combine, Stmt } from '@tessera/inductor-core';
import { elementText, rawElement, toBfloat, vectorIndex } from './buffer-access.js';
import type { CodeBlock } from '../code-block.js';
import type { ExprEmitter } from './expr-emitter.js';
import { narrow } from './op-table.js';
import type { BufferAccess } from '../wgsl-program.js';
import { laneText, widen, type Value } from './value.js';
import { typeName, type Width } from './wgsl-types.js';

type Store = Extract<Stmt, { kind: 'store' }>;

/** Where collected writes go: `full` for all lanes at once, `partial` for lanes one by one. */
export interface StoreSink {
  readonly full: CodeBlock;
  /** Present when some lanes may lie beyond the end; `condition(j)` tells whether lane j does not. */
  readonly partial?: { readonly block: CodeBlock; condition(lane: number): string };
}

/** Emits the value of a store and adds the write to `sink`. */
export function emitStore(emitter: ExprEmitter, stmt: Store, sink: StoreSink): void {
  const buffer = emitter.builder.buffer(stmt.buf);
  const value = emitter.value(stmt.value);
  const { stride, alignment } = emitter.context.access(stmt.index);
  if (stmt.combine !== undefined) return emitCombined(emitter, stmt, stmt.combine, sink);
  if (stride === 0 && value.width === 1) {
    const target = elementText(buffer, emitter.indexBase(stmt.index));
    sink.full.line(`${target} = ${toStorage(emitter, stmt, value, buffer, 1)};`);
    sink.partial?.block.line(`${target} = ${toStorage(emitter, stmt, value, buffer, 1)};`);
    return;
  }
  const wide = stride === 1 && alignment === 4 && buffer.vector;
  const stored = emitter.atom({
    text: toStorage(emitter, stmt, value, buffer, 4),
    type: 'f32',
    width: 4,
    atom: wide && sink.partial === undefined,
  });
  if (wide) {
    const base = vectorIndex(emitter.indexBase(stmt.index));
    sink.full.line(`${buffer.variable}[${base}] = ${stored.text};`);
    for (let lane = 0; lane < 4 && sink.partial !== undefined; lane++) {
      const component = 'xyzw'[lane];
      sink.partial.block.line(
        `if (${sink.partial.condition(lane)}) { ${buffer.variable}[${base}].${component} = ${stored.text}.${component}; }`,
      );
    }
    return;
  }
  for (const [lane, index] of emitter.laneIndices(stmt.index, buffer).entries()) {
    const write = `${rawElement(buffer, index)} = ${laneText(stored, lane)};`;
    sink.full.line(write);
    sink.partial?.block.line(`if (${sink.partial.condition(lane)}) { ${write} }`);
  }
}

/** Each lane combines its value with what lies there. */
function emitCombined(emitter: ExprEmitter, stmt: Store, combine: Combine, sink: StoreSink): void {
  const { builder, context } = emitter;
  const buffer = builder.buffer(stmt.buf);
  const value = emitter.atom(emitter.value(stmt.value));
  const call = (index: string, text: string): string => {
    if (combine === 'max') return `atomicMax(&${buffer.variable}[${index}], ${text});`;
    if (buffer.storage === 'i32') return `atomicAdd(&${buffer.variable}[${index}], ${text});`;
    return `${builder.floatAdder(buffer)}(${index}, ${text});`;
  };
  if (context.width === 1) {
    const { offset } = buffer;
    const base = emitter.indexBase(stmt.index);
    sink.full.line(call(offset === null ? base : `${base} + ${offset}`, value.text));
    return;
  }
  for (const [lane, index] of emitter.laneIndices(stmt.index, buffer).entries()) {
    const write = call(index, value.width === 1 ? value.text : laneText(value, lane));
    sink.full.line(write);
    sink.partial?.block.line(`if (${sink.partial.condition(lane)}) { ${write} }`);
  }
}

/** Whether a value already has the precision and range of the buffer's type. */
function isNarrowed({ value, isExact }: Store): boolean {
  return isExact === true || value.kind === 'load' || (value.kind === 'op' && value.op === 'cast');
}

function toStorage(
  emitter: ExprEmitter,
  stmt: Store,
  value: Value,
  buffer: BufferAccess,
  width: Width,
): string {
  const text = widen(value, width);
  if (buffer.param.dtype === 'bool')
    return `select(${typeName('u32', width)}(0u), ${typeName('u32', width)}(1u), ${text})`;
  const narrowed = isNarrowed(stmt)
    ? text
    : narrow(text, buffer.param.dtype, { width, helper: (name) => emitter.helper(name, width) });
  if (buffer.storage === 'f16') return `${typeName('f16', width)}(${narrowed})`;
  if (buffer.storage !== 'bf16') return narrowed;
  const whole = emitter.atom({ text: narrowed, type: 'f32', width, atom: false });
  return toBfloat(whole.text, width);
}
