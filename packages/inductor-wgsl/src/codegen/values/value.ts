/**
 * @file `Value`: a piece of WGSL that denotes one value or a vector of four.
 */
import { typeName, type ScalarType, type Width } from './wgsl-types.js';

/** See the file header. */
export interface Value {
  readonly text: string;
  readonly type: ScalarType;
  readonly width: Width;
  /** A name or literal: naming it twice costs nothing. */
  readonly atom: boolean;
}

/** Text of a value in the given width; a single value is copied to all lanes. */
export function widen(value: Value, width: Width): string {
  return value.width === width ? value.text : `${typeName(value.type, width)}(${value.text})`;
}

/** Text of one lane. */
export function laneText(value: Value, lane: number): string {
  return value.width === 1 ? value.text : `${value.text}.${'xyzw'[lane]}`;
}

/** Text of an unsigned index as a value. */
export function convertIndex(text: string, width: Width, type: ScalarType): string {
  const signed = `${typeName('i32', width)}(${text})`;
  return type === 'i32' ? signed : `${typeName(type, width)}(${signed})`;
}
