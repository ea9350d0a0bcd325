/**
 * @file Arguments of nodes as JSON and back: nodes by name, numbers exactly.
 */
import { type JsonSize, type Size, SymInt, decodeSize, encodeSize } from '@tessera/shared';
import { graphError } from '../ir/graph-error.js';
import type { JsonField } from './json-field.js';
import { type Argument, Node } from '../ir/node.js';

/** An argument as JSON; numbers that JSON cannot hold are written by name. */
export type JsonArgument =
  | number
  | boolean
  | string
  | null
  | readonly JsonArgument[]
  | { readonly node: string }
  /** `NaN`, `Infinity`, `-Infinity` or `-0`. */
  | { readonly number: string }
  | { readonly bigint: string }
  | { readonly undefined: true }
  | { readonly size: JsonSize }
  | { readonly record: Readonly<Record<string, JsonArgument>> };

/** Writes an argument. */
export function encodeArgument(arg: Argument): JsonArgument {
  if (arg instanceof Node) return { node: arg.name };
  if (arg instanceof SymInt) return { size: encodeSize(arg) };
  if (Array.isArray(arg)) return arg.map(encodeArgument);
  if (typeof arg === 'number') {
    if (Object.is(arg, -0)) return { number: '-0' };
    return Number.isFinite(arg) ? arg : { number: String(arg) };
  }
  if (typeof arg === 'bigint') return { bigint: String(arg) };
  if (arg === undefined) return { undefined: true };
  if (typeof arg === 'function')
    throw graphError(
      `${String(arg)} is code of the program.`,
      'A graph that calls a custom autograd function cannot be written as text.',
    );
  if (typeof arg !== 'object' || arg === null) return arg;
  return {
    record: Object.fromEntries(
      Object.entries(arg).map(([key, value]) => [key, encodeArgument(value)]),
    ),
  };
}

/** A text that stands for a whole number of any size. */
const WHOLE = /^-?\d{1,40}$/;

/** Reads a size. What it may be made of is in `encodeSize`. */
export function readSize(json: JsonField, symbols: ReadonlyMap<string, SymInt>): Size {
  checkSize(json);
  return decodeSize(json.value as JsonSize, symbols);
}

/** Refuses what `encodeSize` does not write. */
export function checkSize(json: JsonField): void {
  if (typeof json.value === 'string') json.string(64);
  else if (!json.isRecord) json.integer(-MAX, MAX);
  else {
    const args = json.field('args').items(64);
    if (args.length === 0) json.refuse('has no operands');
    for (const arg of args) checkSize(arg);
    if (json.field('op').oneOf(['sum', 'product', 'floordiv', 'mod', 'min', 'max']) === 'sum') {
      const coeffs = json.field('coeffs').items(64);
      for (const number of [...coeffs, json.field('constant')]) number.integer(-MAX, MAX);
      if (coeffs.length !== args.length) json.refuse('has another number of coefficients');
    } else if (args.length < 2) json.refuse('has too few operands');
  }
}

const MAX = Number.MAX_SAFE_INTEGER;

/** Reads an argument. Nodes are those before its use. */
export function readArgument(
  json: JsonField,
  nodes: ReadonlyMap<string, Node>,
  symbols: ReadonlyMap<string, SymInt> = new Map(),
): Argument {
  const { value } = json;
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return json.string(2 ** 16);
  if (json.isList) return json.items().map((item) => readArgument(item, nodes, symbols));
  if (!json.isRecord) return json.finite();
  if (json.has('node')) {
    const name = json.field('node').string();
    return nodes.get(name) ?? json.refuse('names a node that does not come before it');
  }
  if (json.has('size')) return readSize(json.field('size'), symbols);
  if (json.has('number')) return json.field('number').number();
  if (json.has('bigint')) return BigInt(json.field('bigint').name(WHOLE));
  if (json.has('undefined')) return undefined;
  return Object.fromEntries(
    json
      .field('record')
      .entries()
      .map(([key, item]) => [key, readArgument(item, nodes, symbols)]),
  );
}
