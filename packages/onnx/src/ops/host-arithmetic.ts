/**
 * @file Arithmetic on numbers of the host, as shapes and constants are.
 */
import { type DType, broadcastShapes, isFloatingPoint, isIntegral } from '@tessera/tensor';
import { HOST_LIMIT, HostArray } from '../run/host-array.js';
import type { NodeCall } from '../run/node-call.js';
import type { ShapeOperator, ShapeOperatorTable } from '../registry.js';
import { castTarget } from './cast.js';
import { arranged } from './host-shapes.js';
import { product, range } from './like.js';

/** A number as the dtype holds it. */
function rounded(value: number, dtype: DType): number {
  if (dtype === 'float32') return Math.fround(value);
  return isFloatingPoint(dtype) ? value : value + 0;
}

/** Types whose arithmetic JavaScript's numbers do exactly or to the last bit. */
function isPlain(dtype: DType): boolean {
  return ['float32', 'float64', 'int64', 'int32', 'bool'].includes(dtype);
}

/** `from` repeated to a shape; null if that is too large. */
function broadcast(from: HostArray, shape: readonly number[]): HostArray | null {
  const own = [...Array<number>(shape.length - from.ndim).fill(1), ...from.shape];
  return arranged(from.reshaped(own), shape, (position) =>
    position.map((p, i) => (own[i] === 1 ? 0 : p)),
  );
}

/** Elements of several arrays, broadcast, combined. */
function zipped(
  call: NodeCall,
  dtype: DType,
  combine: (values: readonly number[]) => number,
): HostArray | null {
  const arrays = call.inputs.map((_, i) => call.host(i));
  if (!arrays.every((array) => isPlain(array.dtype))) return null;
  const shape = broadcastShapes(arrays.map((array) => array.shape));
  if (product(shape) > HOST_LIMIT) return null;
  const wide = arrays.map((array) => broadcast(array, shape));
  const data = range(product(shape)).map((i) =>
    rounded(combine(wide.map((array) => array!.data[i]!)), dtype),
  );
  // Beyond these numbers integers wrap around, which tensors do.
  const limit = dtype === 'int32' ? 2 ** 31 : Number.MAX_SAFE_INTEGER;
  const fits = (value: number): boolean => Number.isInteger(value) && Math.abs(value) < limit;
  if (isIntegral(dtype) && !data.every(fits)) return null;
  return new HostArray(dtype, shape, data);
}

function arithmetic(combine: (a: number, b: number, dtype: DType) => number): ShapeOperator {
  return (call) => {
    const dtype = call.dtype(0);
    if (dtype === 'bool') return null;
    return zipped(call, dtype, ([a, ...rest]) => rest.reduce((x, y) => combine(x, y, dtype), a!));
  };
}

function unary(compute: (x: number) => number): ShapeOperator {
  return (call) => zipped(call, call.dtype(0), ([x]) => compute(x!));
}

function comparison(compare: (a: number, b: number) => boolean): ShapeOperator {
  return (call) => zipped(call, 'bool', ([a, b]) => Number(compare(a!, b!)));
}

/** Division by zero and its like are left to tensors. */
function divide(a: number, b: number, dtype: DType): number {
  if (isFloatingPoint(dtype)) return a / b;
  return b === 0 ? Number.NaN : Math.trunc(a / b);
}

function modulo(call: NodeCall): HostArray | null {
  const fmod = call.flag('fmod');
  return arithmetic((a, b) => (fmod ? a % b : a - b * Math.floor(a / b)))(call) as HostArray | null;
}

function cast(call: NodeCall): HostArray | null {
  const from = call.host(0);
  const { dtype, bits } = castTarget(call);
  if (!isPlain(dtype) || !isPlain(from.dtype) || bits < 32 !== (dtype === 'bool')) return null;
  const convert = (value: number): number => {
    if (dtype === 'bool') return value === 0 ? 0 : 1;
    return isFloatingPoint(dtype) ? rounded(value, dtype) : Math.trunc(value);
  };
  const data = from.data.map(convert);
  const limit = dtype === 'int32' ? 2 ** 31 : Number.MAX_SAFE_INTEGER;
  if (isIntegral(dtype) && !data.every((value) => Math.abs(value) < limit)) return null;
  return new HostArray(dtype, from.shape, data);
}

/** Reduces a vector to one number, as shapes are. */
function reduction(combine: (a: number, b: number) => number): ShapeOperator {
  return (call) => {
    const x = call.host(0);
    const isKnown = x.dtype === 'int64' || x.dtype === 'float64';
    if (x.ndim !== 1 || x.numel === 0 || !isKnown) return null;
    const given = call.has(1) ? call.numbers(1) : call.ints('axes');
    if (call.flag('noop_with_empty_axes') && (given ?? []).length === 0) return null;
    const value = x.data.reduce(combine);
    if (!Number.isSafeInteger(value)) return null;
    return new HostArray(x.dtype, call.flag('keepdims', true) ? [1] : [], [value]);
  };
}

/** Operators on numbers of the host. */
export const hostArithmetic: ShapeOperatorTable = {
  Add: arithmetic((a, b) => a + b),
  Sub: arithmetic((a, b) => a - b),
  Mul: arithmetic((a, b) => a * b),
  Div: arithmetic(divide),
  Mod: modulo,
  Max: arithmetic((a, b) => Math.max(a, b)),
  Min: arithmetic((a, b) => Math.min(a, b)),
  Pow: (call) => (call.dtype(0) === call.dtype(1) ? arithmetic((a, b) => a ** b)(call) : null),
  Abs: unary(Math.abs),
  Neg: unary((x) => 0 - x),
  Floor: unary(Math.floor),
  Ceil: unary(Math.ceil),
  Sqrt: unary(Math.sqrt),
  Sign: unary(Math.sign),
  Equal: comparison((a, b) => a === b),
  Greater: comparison((a, b) => a > b),
  GreaterOrEqual: comparison((a, b) => a >= b),
  Less: comparison((a, b) => a < b),
  LessOrEqual: comparison((a, b) => a <= b),
  And: comparison((a, b) => a !== 0 && b !== 0),
  Or: comparison((a, b) => a !== 0 || b !== 0),
  Not: (call) => zipped(call, 'bool', ([x]) => (x === 0 ? 1 : 0)),
  Where: (call) => zipped(call, call.dtype(1), ([c, a, b]) => (c === 0 ? b! : a!)),
  Cast: cast,
  CastLike: (call) => (call.has(1) ? cast(call) : null),
  ReduceProd: reduction((a, b) => a * b),
  ReduceSum: reduction((a, b) => a + b),
  ReduceMax: reduction((a, b) => Math.max(a, b)),
  ReduceMin: reduction((a, b) => Math.min(a, b)),
};
