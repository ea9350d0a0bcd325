/**
 * @file Structural hashing and equality of calls.
 *
 * The hash only finds the bucket; two calls are the same only if `sameCall` says so. Numbers are compared
 * with `Object.is` (so -0 is not 0, and NaN is NaN), `true` is not 1, and since JavaScript cannot tell 1
 * from 1.0, calls with known results must also agree in dtype and layout.
 */
import { type Argument, Node, type Target, tensorVals } from '@tessera/graph';
import { SymInt } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import { sameNumbers } from '@tessera/tensor/internal';

const ids = new WeakMap<object, number>();
let nextId = 1;

function idOf(object: object): number {
  let id = ids.get(object);
  if (id === undefined) ids.set(object, (id = nextId++));
  return id;
}

const float = new Float64Array(1);
const words = new Uint32Array(float.buffer);

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193) >>> 0;
}

function hashText(hash: number, text: string): number {
  let h = hash;
  for (let i = 0; i < text.length; i++) h = mix(h, text.charCodeAt(i));
  return h;
}

function hashArgument(hash: number, arg: Argument): number {
  if (arg instanceof Node || arg instanceof SymInt) return mix(mix(hash, 1), idOf(arg));
  if (typeof arg === 'number') {
    float[0] = arg;
    return mix(mix(mix(hash, 2), words[0]), words[1]);
  }
  if (typeof arg === 'object' && arg !== null) {
    const list = Array.isArray(arg);
    let h = mix(hash, list ? 3 : 4);
    for (const [key, value] of Object.entries(arg)) {
      h = hashArgument(list ? h : hashText(h, key), value);
    }
    return h;
  }
  return hashText(mix(hash, 5), `${typeof arg}${String(arg)}`);
}

/** Hash of what a node computes. */
export function hashCall(node: Node): number {
  const target: Target = node.target;
  let hash =
    typeof target === 'string' ? hashText(0x811c9dc5, target) : mix(0x811c9dc5, idOf(target));
  for (const arg of node.args) hash = hashArgument(hash, arg);
  return hash;
}

/** Whether two arguments are the same, nodes by identity. */
export function sameArgument(a: Argument, b: Argument): boolean {
  if (a instanceof Node || b instanceof Node || typeof a !== 'object' || typeof b !== 'object') {
    return Object.is(a, b);
  }
  if (a instanceof SymInt || b instanceof SymInt) return a === b;
  if (a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return a === b;
  const left = Object.entries(a);
  const right = Object.entries(b);
  if (left.length !== right.length) return false;
  return left.every(([key, value], i) => key === right[i][0] && sameArgument(value, right[i][1]));
}

/** Whether two nodes compute the same from the same values. */
export function sameCall(a: Node, b: Node): boolean {
  if (a.op !== b.op || a.target !== b.target || a.args.length !== b.args.length) return false;
  if (!a.args.every((arg, i) => sameArgument(arg, b.args[i]))) return false;
  const left = tensorVals(a);
  const right = tensorVals(b);
  return left.length === right.length && left.every((val, i) => sameLayout(val, right[i]));
}

/** Whether two values agree in dtype, device, sizes and strides. */
export function sameLayout(a: Tensor, b: Tensor): boolean {
  return (
    a.dtype === b.dtype &&
    a.device === b.device &&
    sameNumbers(a.sizes, b.sizes) &&
    sameNumbers(a.strides, b.strides)
  );
}
