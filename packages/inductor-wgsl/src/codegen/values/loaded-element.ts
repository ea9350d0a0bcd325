/** @file What a load reads: an element, a vector, or the elements that lanes touch. */
import { type Expr, pairedPlace } from '@tessera/inductor-core';
import { elementText, pairText, partText, rawElement, vectorIndex } from './buffer-access.js';
import type { ExprEmitter } from './expr-emitter.js';
import { typeName, type Width } from './wgsl-types.js';

/** Text of what a load reads, in the type in which it is stored. */
export function loadedElement(
  emitter: ExprEmitter,
  expr: Extract<Expr, { kind: 'load' }>,
): { readonly text: string; readonly width: Width } {
  const buffer = emitter.builder.buffer(expr.buf);
  const { stride, alignment } = emitter.context.access(expr.index);
  if (buffer.paired) {
    const width = buffer.vector ? 4 : 1;
    const { first, part } = pairedPlace(expr.index, width, emitter.still)!;
    const pair = pairText(buffer, emitter.indexBase(first));
    return { text: partText(buffer, emitter.once(expr, pair), part), width };
  }
  if (stride === 0) return { text: elementText(buffer, emitter.indexBase(expr.index)), width: 1 };
  if (stride === 1 && alignment === 4 && buffer.vector) {
    const index = vectorIndex(emitter.indexBase(expr.index));
    return { text: `${buffer.variable}[${index}]`, width: 4 };
  }
  const indices = emitter.hoisted(expr, () => emitter.laneIndices(expr.index, buffer));
  const parts = indices.map((index) => rawElement(buffer, index));
  return { text: `${typeName(buffer.storage, 4)}(${parts.join(', ')})`, width: 4 };
}
