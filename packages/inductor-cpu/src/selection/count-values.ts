/**
 * @file Counting integers: the largest one, how often each is there, and sums of their weights.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { i32, i64, memory, op, select } from '../emit/code.js';
import type { Code, ResultType } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance, scaled } from '../matmul/index-code.js';
import { integerAt } from './elements.js';

/** Loops over adjacent elements. */
function eachInteger(
  f: WasmFunction<ResultType>,
  dtype: DType,
  body: (value: Code<'i64'>) => void,
): void {
  const from = f.param('from');
  const bytes = itemSize(dtype);
  const end = f.let('end', op('i32.add', from, scaled(f.param('count'), bytes)));
  f.for('at', from, end, bytes, (at) => body(integerAt(dtype, at)));
}

/** `largest(from, count)`: the largest element, taken as unsigned: 2⁶³ or more if one is negative. */
export function largestInteger(dtype: DType): WasmFunction<'f64'> {
  const f = new WasmFunction('largest', { from: 'i32', count: 'i32' }, 'f64');
  const most = f.let('most', i64(0));
  eachInteger(f, dtype, (element) => {
    const value = f.let('value', element);
    f.set(most, select(value, most, op('i64.gt_u', value, most)));
  });
  f.return(op('f64.convert_i64_u', most));
  return f;
}

/** Where what belongs to an element is, at `to`, 8 bytes for each. */
function placeOf(f: WasmFunction<ResultType>, value: Code<'i64'>): Code<'i32'> {
  return op('i32.add', f.param('to'), scaled(op('i32.wrap_i64', value), 8));
}

/** `count_values(from, count, to)`: adds ones to int64. */
export function countValues(dtype: DType): WasmFunction {
  const f = new WasmFunction('count_values', { from: 'i32', count: 'i32', to: 'i32' });
  eachInteger(f, dtype, (value) => {
    const place = f.let('place', placeOf(f, value));
    f.do(memory('i64.store', 0, place, op('i64.add', memory('i64.load', 0, place), i64(1))));
  });
  return f;
}

/** `sum_weights(from, count, to, weights)`: adds weights to float64. */
export function sumWeights(dtype: DType, weight: 'float32' | 'float64'): WasmFunction {
  const f = new WasmFunction('sum_weights', {
    from: 'i32',
    count: 'i32',
    to: 'i32',
    weights: 'i32',
  });
  const weights = f.param('weights');
  eachInteger(f, dtype, (value) => {
    const place = f.let('place', placeOf(f, value));
    const share =
      weight === 'float64'
        ? memory('f64.load', 0, weights)
        : op('f64.promote_f32', memory('f32.load', 0, weights));
    f.do(memory('f64.store', 0, place, op('f64.add', memory('f64.load', 0, place), share)));
    advance(f, weights, itemSize(weight));
  });
  return f;
}

/** `round_all(from, count, to)`: float64 as float32, which may be written over them. */
export function roundAll(): WasmFunction {
  const f = new WasmFunction('round_all', { from: 'i32', count: 'i32', to: 'i32' });
  const [from, to] = [f.param('from'), f.param('to')];
  f.for('i', i32(0), f.param('count'), 1, () => {
    f.do(memory('f32.store', 0, to, op('f32.demote_f64', memory('f64.load', 0, from))));
    advance(f, from, 8);
    advance(f, to, 4);
  });
  return f;
}
