/**
 * @file `keyBound`: behind which key a mask hides everything, where an input of the graph says so.
 *
 * A model with a static cache compares the numbers of keys (`arange`) with the places of its queries: keys behind the
 * last place are memory that was not written yet. What is found is an upper bound, for all rows of the mask together.
 */
import { type Argument, Node, tensorVal } from '@tessera/graph';
import { type DType, isTensor } from '@tessera/tensor';

/** No key behind number `max(input) + plus` is seen. */
export interface KeyBound {
  /** A placeholder of whole numbers, on the CPU. */
  readonly input: Node;
  readonly plus: number;
}

type Bound = KeyBound | null;

/** Where a mask hides keys: false of a bool mask, -∞ of one that is added. */
export function keyBound(mask: Argument | undefined): Bound {
  return dtypeOf(mask) === 'bool' ? falseBehind(mask) : infiniteBehind(mask);
}

/** Behind which key all elements of a tensor of bool are false. */
function falseBehind(arg: Argument | undefined): Bound {
  const call = callOf(arg);
  if (call === null || dtypeOf(arg) !== 'bool') return null;
  const [a, b] = call.args;
  const part = (of: Argument | undefined): Bound => (keepsKeys(arg, of) ? falseBehind(of) : null);
  if (SAME_KEYS.has(call.name)) return part(a);
  if (call.name === 'aten::logical_and' || call.name === 'aten::bitwise_and.Tensor')
    return part(a) ?? part(b);
  return comparison(call);
}

/** Behind which key all elements of a tensor of floats are -∞. */
function infiniteBehind(arg: Argument | undefined): Bound {
  const call = callOf(arg);
  if (call === null || dtypeOf(arg) === 'bool') return null;
  const [a, ...values] = call.args;
  if (!keepsKeys(arg, a)) return null;
  if (SAME_KEYS.has(call.name)) return infiniteBehind(a);
  if (call.name !== 'aten::where.self') return null;
  const [whereTrue, whereFalse] = values.map(constantOf);
  if (whereFalse === -Infinity) return falseBehind(a);
  return whereTrue === -Infinity ? falseBehind(negated(a)) : null;
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

function dtypeOf(arg: Argument | undefined): DType | null {
  return tensorVal(arg)?.dtype ?? null;
}

const sizesOf = (arg: Argument | undefined): readonly number[] => tensorVal(arg)?.sizes ?? [];

/** Whether both have as many keys: then what is made of a value element by element, or a view, moves none of them. */
function keepsKeys(made: Argument | undefined, of: Argument | undefined): boolean {
  const keys = sizesOf(made).at(-1);
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
function comparison({ node, name, args: [a, b] }: Call): Bound {
  const counts = (keys: Argument | undefined): boolean => keepsKeys(node, keys) && isKeys(keys);
  switch (name) {
    case 'aten::ge.Tensor':
      return counts(b) ? largest(a) : null;
    case 'aten::le.Tensor':
      return counts(a) ? largest(b) : null;
    case 'aten::gt.Tensor':
      return counts(b) ? moved(largest(a), -1) : null;
    case 'aten::lt.Tensor':
      return counts(a) ? moved(largest(b), -1) : null;
    case 'aten::ge.Scalar': {
      const distance = callOf(a);
      if (distance?.name !== 'aten::sub.Tensor' || typeof b !== 'number') return null;
      const [query, keys, factor = 1] = distance.args;
      return factor === 1 && counts(keys) ? moved(largest(query), -b) : null;
    }
    default:
      return null;
  }
}

/** Types that hold the number of any key. */
const HOLDS_KEYS: ReadonlySet<DType | null> = new Set(['int64', 'int32', 'float64', 'float32']);

/** Whether the last dimension counts the keys from 0. */
function isKeys(arg: Argument | undefined): boolean {
  const call = callOf(arg);
  if (call === null || !HOLDS_KEYS.has(dtypeOf(arg))) return false;
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
