/**
 * @file `keyBound`: behind which key a mask hides everything, where an input of the graph says so.
 *
 * A model with a static cache compares the numbers of keys (`arange`) with the places of its queries: keys behind the
 * last place are memory that was not written yet. What is found is an upper bound, for all rows of the mask together.
 */
import { type Argument, Node } from '@tessera/graph';
import { isTensor } from '@tessera/tensor';

/** No key behind number `max(input) + plus` is seen. */
export interface KeyBound {
  /** A placeholder of whole numbers, on the CPU. */
  readonly input: Node;
  readonly plus: number;
}

type Bound = KeyBound | null;

/** Where a mask hides keys: false of a bool mask, -∞ of one that is added. */
export function keyBound(mask: Argument | undefined): Bound {
  const call = callOf(mask);
  if (call === null) return null;
  const [first, ...rest] = call.args;
  if (SAME_KEYS.has(call.name)) return keepsKeys(call.node, first) ? keyBound(first) : null;
  switch (call.name) {
    case 'aten::logical_and':
    case 'aten::bitwise_and.Tensor':
      return keyBound(first) ?? keyBound(rest[0]);
    case 'aten::where.self': {
      const [whereTrue, whereFalse] = rest.map(constantOf);
      if (whereFalse === -Infinity) return keyBound(first);
      return whereTrue === -Infinity ? keyBound(negated(first)) : null;
    }
    default:
      return comparison(call);
  }
}

/** Views and casts whose elements are of the same key as those of what they are made of. */
const SAME_KEYS: ReadonlySet<string> = new Set([
  'aten::unsqueeze',
  'aten::expand',
  'aten::view',
  'aten::_to_copy',
]);

/** Views whose elements are some of another tensor's. */
const PARTS: ReadonlySet<string> = new Set([
  'aten::unsqueeze',
  'aten::expand',
  'aten::view',
  'aten::select.int',
  'aten::slice.Tensor',
]);

interface Call {
  readonly node: Node;
  readonly name: string;
  readonly args: readonly Argument[];
}

function callOf(arg: Argument | undefined): Call | null {
  if (!(arg instanceof Node) || typeof arg.target !== 'object') return null;
  return { node: arg, name: arg.target.qualifiedName, args: arg.args };
}

const sizesOf = (arg: Argument | undefined): readonly number[] =>
  arg instanceof Node && isTensor(arg.meta.val) ? arg.meta.val.sizes : [];

/** Whether both have as many keys: then a view does not move any to another place of the last dimension. */
function keepsKeys(view: Node, of: Argument | undefined): boolean {
  const [keys] = sizesOf(view).slice(-1);
  return keys !== undefined && sizesOf(of).at(-1) === keys;
}

function negated(arg: Argument | undefined): Argument | undefined {
  const call = callOf(arg);
  return call?.name === 'aten::logical_not' ? call.args[0] : undefined;
}

/** The number that all elements are. */
function constantOf(arg: Argument | undefined): number | null {
  if (typeof arg === 'number') return arg;
  const call = callOf(arg);
  const at = call === null ? undefined : { 'aten::scalar_tensor': 0, 'aten::full': 1 }[call.name];
  const value = at === undefined ? undefined : call!.args[at];
  return typeof value === 'number' ? value : null;
}

/** `query ≥ key`, in one of the ways to write it. */
function comparison({ name, args: [a, b] }: Call): Bound {
  switch (name) {
    case 'aten::ge.Tensor':
      return isKeys(b) ? largest(a) : null;
    case 'aten::le.Tensor':
      return isKeys(a) ? largest(b) : null;
    case 'aten::gt.Tensor':
      return isKeys(b) ? moved(largest(a), -1) : null;
    case 'aten::lt.Tensor':
      return isKeys(a) ? moved(largest(b), -1) : null;
    case 'aten::ge.Scalar': {
      const distance = callOf(a);
      if (distance?.name !== 'aten::sub.Tensor' || typeof b !== 'number') return null;
      const [query, keys, factor = 1] = distance.args;
      return factor === 1 && isKeys(keys) ? moved(largest(query), -b) : null;
    }
    default:
      return null;
  }
}

/** Whether the last dimension counts the keys from 0. */
function isKeys(arg: Argument | undefined): boolean {
  const call = callOf(arg);
  if (call === null) return false;
  if (call.name === 'aten::arange.start_step') return call.args[0] === 0 && call.args[2] === 1;
  return SAME_KEYS.has(call.name) && keepsKeys(call.node, call.args[0]) && isKeys(call.args[0]);
}

function moved(bound: Bound, by: number): Bound {
  return bound === null ? null : { ...bound, plus: bound.plus + Math.floor(by) };
}

/** What no element of a tensor of whole numbers exceeds. */
function largest(arg: Argument | undefined): Bound {
  if (!(arg instanceof Node)) return null;
  const { val } = arg.meta;
  if (!isTensor(val) || !isWhole(val.dtype) || val.device !== 'cpu') return null;
  if (arg.op === 'placeholder') return { input: arg, plus: 0 };
  const call = callOf(arg);
  if (call === null) return null;
  const [a, b, factor = 1] = call.args;
  if (PARTS.has(call.name) || call.name === 'aten::_to_copy') return largest(a);
  if (call.name !== 'aten::add.Tensor' || factor !== 1) return null;
  const [right, left] = [lastOf(b), lastOf(a)];
  if (right !== null) return moved(largest(a), right);
  return left === null ? null : moved(largest(b), left);
}

const isWhole = (dtype: string): boolean => dtype === 'int64' || dtype === 'int32';

/** The largest number of a range, or a number itself. */
function lastOf(arg: Argument | undefined): number | null {
  if (typeof arg === 'number') return arg;
  const call = callOf(arg);
  if (call === null || call.name !== 'aten::arange.start_step') return null;
  const [start, , step] = call.args;
  const [count] = sizesOf(call.node);
  if (typeof start !== 'number' || typeof step !== 'number' || step < 0) return null;
  return start + ((count ?? 1) - 1) * step;
}
