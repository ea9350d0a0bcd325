/**
 * @file `sort_row` and `sort_positions`: sort the elements of a row, or of some positions in it.
 *
 * Long keys are sorted by their lower half first, and then by the upper one.
 */
import type { DType } from '@tessera/tensor';
import { call, i32, i64, memory, op, select } from '../emit/code.js';
import type { DefinedFunction, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { halfOfKey, hasLongKeys } from './sort-keys.js';
import { PAIR } from './sort-pairs.js';

/** What functions of a row take first: the row, how many elements, the order, and memory for pairs and counts. */
const ROW = {
  from: 'i32',
  step: 'i32',
  length: 'i32',
  flip: 'i32',
  pairs: 'i32',
  other: 'i32',
  counts: 'i32',
} as const;

/** The parameters of a function of a row. */
export type RowParams = Readonly<Record<keyof typeof ROW, Local<'i32'>>>;

/** A function of a row that gives where its pairs are in the end. */
export function rowFunction(
  name: string,
  more: Readonly<Record<string, 'i32'>> = {},
): { readonly f: WasmFunction<'i32'>; readonly row: RowParams } {
  const f = new WasmFunction(name, { ...ROW, ...more }, 'i32');
  const row = Object.fromEntries(Object.keys(ROW).map((key) => [key, f.param(key)]));
  return { f, row: row as RowParams };
}

/** `keys(from, step, pairs, count, flip)`: gives pairs their keys; fresh ones also their positions, which are those of their places. */
function keys(dtype: DType, half: 'lower' | 'upper', isFresh: boolean): WasmFunction {
  const f = new WasmFunction(`${half}_keys${isFresh ? '' : '_of_positions'}`, {
    from: 'i32',
    step: 'i32',
    pairs: 'i32',
    count: 'i32',
    flip: 'i32',
  });
  const [from, step, at] = [f.param('from'), f.param('step'), f.param('pairs')];
  f.for('i', i32(0), f.param('count'), 1, (i) => {
    const position = isFresh ? i : f.let('position', memory('i32.load', 0, at));
    const address = isFresh ? from : op('i32.add', from, op('i32.mul', position, step));
    const key = op('i64.extend_i32_u', halfOfKey(f, dtype, address, f.param('flip'), half));
    const pair = op('i64.or', op('i64.shl', key, i64(32)), op('i64.extend_i32_u', position));
    f.do(memory('i64.store', 0, at, pair));
    f.set(at, op('i32.add', at, i32(PAIR)));
    if (isFresh) f.set(from, op('i32.add', from, step));
  });
  return f;
}

/** See the file header. @param isFresh whether it is all elements of a row, else those whose positions the pairs have */
export function sortRow(
  dtype: DType,
  sort: DefinedFunction & { readonly result: 'i32' },
  isFresh: boolean,
): WasmFunction<'i32'> {
  const { f, row } = rowFunction(isFresh ? 'sort_row' : 'sort_positions');
  const { from, step, length, flip, pairs, other, counts } = row;
  f.do(call(keys(dtype, 'lower', isFresh), from, step, pairs, length, flip));
  const sorted = f.let('sorted', call(sort, pairs, other, length, counts));
  if (hasLongKeys(dtype)) {
    f.do(call(keys(dtype, 'upper', false), from, step, sorted, length, flip));
    const rest = f.let('rest', select(other, pairs, op('i32.eq', sorted, pairs)));
    f.set(sorted, call(sort, sorted, rest, length, counts));
  }
  f.return(sorted);
  return f;
}
