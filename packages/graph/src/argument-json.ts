/**
 * @file Arguments of nodes as JSON and back: nodes by name, numbers exactly.
 */
import { type JsonSize, SymInt, decodeSize, encodeSize } from '@tessera/shared';
import { graphError } from './graph-error.js';
import { type Argument, Node } from './node.js';

/** An argument as JSON; numbers that JSON cannot hold are written by name. */
export type JsonArgument =
  | number
  | boolean
  | string
  | null
  | readonly JsonArgument[]
  | { readonly node: string }
  | { readonly number: 'NaN' | 'Infinity' | '-Infinity' | '-0' }
  | { readonly bigint: string }
  | { readonly undefined: true }
  | { readonly size: JsonSize }
  | { readonly record: Readonly<Record<string, JsonArgument>> };

/** Writes an argument. */
export function encodeArgument(arg: Argument): JsonArgument {
  if (arg instanceof Node) return { node: arg.name };
  if (arg instanceof SymInt) return { size: encodeSize(arg) };
  if (Array.isArray(arg)) return (arg as readonly Argument[]).map(encodeArgument);
  if (typeof arg === 'number') {
    if (Object.is(arg, -0)) return { number: '-0' };
    return Number.isFinite(arg) ? arg : { number: String(arg) as 'NaN' | 'Infinity' | '-Infinity' };
  }
  if (typeof arg === 'bigint') return { bigint: String(arg) };
  if (arg === undefined) return { undefined: true };
  if (typeof arg === 'function')
    throw graphError(
      `${String(arg as unknown)} is code of the program.`,
      'A graph that calls a custom autograd function cannot be written as text.',
    );
  if (typeof arg !== 'object' || arg === null) return arg;
  return {
    record: Object.fromEntries(
      Object.entries(arg as Record<string, Argument>).map(([key, value]) => [
        key,
        encodeArgument(value),
      ]),
    ),
  };
}

/** Reads an argument. @throws graph-lint when it names a node that is not there */
export function decodeArgument(
  json: JsonArgument,
  nodes: ReadonlyMap<string, Node>,
  symbols: ReadonlyMap<string, SymInt> = new Map(),
): Argument {
  if (json === null || typeof json !== 'object') return json;
  if (isList(json)) return json.map((item) => decodeArgument(item, nodes, symbols));
  if ('node' in json) {
    const node = nodes.get(json.node);
    if (node === undefined)
      throw graphError(
        `There is no node '${json.node}' before its use.`,
        'The file was not written by graphToJson.',
      );
    return node;
  }
  if ('size' in json) return decodeSize(json.size, symbols);
  if ('number' in json) return Number(json.number);
  if ('bigint' in json) return BigInt(json.bigint);
  if ('undefined' in json) return undefined;
  return Object.fromEntries(
    Object.entries(json.record).map(([key, value]) => [key, decodeArgument(value, nodes, symbols)]),
  );
}

function isList(json: JsonArgument & object): json is readonly JsonArgument[] {
  return Array.isArray(json);
}
