/**
 * @file WGSL text of buffer elements: one at a time, of a pair, or in vectors of four, whatever the buffer is declared
 * as.
 */
import type { BufferAccess } from '../wgsl-program.js';
import { type StorageType, typeName, type Width } from './wgsl-types.js';

/** Element of a buffer at an index text, the binding's offset included. */
export function elementText(buffer: BufferAccess, index: string): string {
  return rawElement(buffer, buffer.offset === null ? index : `${index} + ${buffer.offset}`);
}

/** Element at an index text that includes the offset. */
export function rawElement(buffer: BufferAccess, index: string): string {
  if (!buffer.vector) return `${buffer.variable}[${index}]`;
  return `${buffer.variable}[${vectorIndex(index)}][${grouped(index)} & 3u]`;
}

/** The pair of elements, or of vectors of four halves, whose first element is at an index text. */
export function pairText(buffer: BufferAccess, first: string): string {
  if (buffer.vector) return wideText(buffer, first);
  return `${buffer.variable}[${grouped(first)} >> 1u]`;
}

/** The first or the second part of a pair. */
export function partText({ vector }: BufferAccess, pair: string, part: 0 | 1): string {
  if (!vector) return `${pair}.${['x', 'y'][part]}`;
  return `bitcast<vec4h>(${pair}.${['xy', 'zw'][part]})`;
}

/** Eight halves of a buffer of pairs, from an index text on: a multiple of eight. */
export function wideText({ variable }: BufferAccess, index: string): string {
  return `${variable}[${grouped(index)} >> 3u]`;
}

/** Index of the vector that begins at a multiple of four. */
export function vectorIndex(index: string): string {
  return `${grouped(index)} >> 2u`;
}

/** Text that may be an operand of a shift or mask. */
function grouped(text: string): string {
  return /^[\w.]+$/.test(text) ? text : `(${text})`;
}

/** Index text of a lane that is `offset` elements on. */
export function laneOffset(name: string, offset: number): string {
  if (offset === 0) return name;
  return offset > 0 ? `${name} + ${offset}u` : `${name} - ${-offset}u`;
}

/** Text of a stored element as a value of its compute type. */
export function fromStorage(text: string, buffer: BufferAccess, width: Width): string {
  if (buffer.storage === 'f16') return `${typeName('f32', width)}(${text})`;
  if (buffer.storage === 'bf16') return fromBfloat(text, width);
  if (buffer.param.dtype === 'bool') return `(${text} != ${typeName('u32', width)}(0u))`;
  return text;
}

/** A bfloat16 is the upper half of the float32 of the same value. */
function fromBfloat(text: string, width: Width): string {
  if (width === 1) return `bitcast<f32>(vec2h(0h, ${text}))`;
  const words = `bitcast<vec2u>(${text}).xxyy << vec4u(16u, 0u, 16u, 0u)`;
  return `bitcast<vec4f>((${words}) & vec4u(0xffff0000u))`;
}

/** Halves of the float32 values of an atom, which are bfloat16 already. */
export function toBfloat(atom: string, width: Width): string {
  if (width === 1) return `bitcast<vec2h>(${atom}).y`;
  const bits = `bitcast<vec4u>(${atom})`;
  return `bitcast<vec4h>((${bits}.xz >> vec2u(16u)) | (${bits}.yw & vec2u(0xffff0000u)))`;
}

/** What a buffer is an array of: elements, four of them, or halves in pairs. */
export function elementOf(storage: StorageType, vector: boolean, paired: boolean): string {
  if (!paired) return typeName(storage, vector ? 4 : 1);
  return vector ? 'vec4u' : `vec2<${typeName(storage, 1)}>`;
}
