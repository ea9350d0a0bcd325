/**
 * @file Transforms of columns: along a dimension that is not the last one. The lanes of a vector are columns next to each other.
 */
import { call, i32, laneMemory, memory, op } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { plus, scaled, sum } from '../matmul/index-code.js';
import { ComplexCode, type FourierDType, STEP, lanesOf, pairBytes } from './complex-code.js';
import { runPasses } from './passes.js';

/** The parameters of a function of columns: addresses, and distances in bytes. */
export const COLUMNS = [
  'from',
  'to',
  // Between the numbers of a column, in both places.
  'step',
  // Whole vectors of columns, and columns besides.
  'blocks',
  'rest',
  // How many such planes follow each other.
  'planes',
  // Passes over a column, and how many numbers it has.
  'passes',
  'n',
  // Memory for the numbers of as many columns as there are lanes.
  'tile',
  'other',
] as const;

/** Arguments of a function of columns by name. */
export type Columns = Readonly<Record<(typeof COLUMNS)[number], number>>;

type Body = WasmFunction<ResultType>;

/** Loads or stores the first `columns` pairs at an address, one by one. */
function eachPair(
  f: Body,
  dtype: FourierDType,
  columns: Local<'i32'>,
  each: (vector: 0 | 1, lane: 0 | 1, offset: number) => void,
): void {
  const perVector = lanesOf(dtype) / 2;
  for (let column = 0; column < lanesOf(dtype) - 1; column++)
    f.if(op('i32.gt_u', columns, i32(column)), () =>
      each(column < perVector ? 0 : 1, (column % perVector) as 0 | 1, column * pairBytes(dtype)),
    );
}

/** `load_columns(from, step, columns, tile, n)` */
function loadColumns(dtype: FourierDType, inverse: boolean, isWhole: boolean): WasmFunction {
  const f = new WasmFunction(isWhole ? 'load_columns' : 'load_rest', {
    from: 'i32',
    step: 'i32',
    columns: 'i32',
    tile: 'i32',
    n: 'i32',
  });
  const c = new ComplexCode(f, dtype);
  const [from, tile, columns] = [f.param('from'), f.param('tile'), f.param('columns')];
  const end = f.let('end', sum(tile, scaled(f.param('n'), STEP)));
  const parts = [f.local('v128', 'part'), f.local('v128', 'part')];
  f.loop((again) => {
    if (isWhole) c.store(tile, c.loadPairs(from, inverse));
    else {
      eachPair(f, dtype, columns, (vector, lane, offset) =>
        f.set(
          parts[vector],
          dtype === 'float64'
            ? memory('v128.load', offset, from)
            : laneMemory('v128.load64_lane', offset, lane, from, parts[vector]),
        ),
      );
      c.store(tile, c.apart(parts[0], parts[1], inverse));
    }
    f.set(from, sum(from, f.param('step')));
    f.set(tile, plus(tile, STEP));
    f.brIf(again, op('i32.lt_u', tile, end));
  });
  return f;
}

/** `store_columns(tile, n, to, step, columns, factor)` */
function storeColumns(dtype: FourierDType, inverse: boolean, isWhole: boolean): WasmFunction {
  const f = new WasmFunction(isWhole ? 'store_columns' : 'store_rest', {
    tile: 'i32',
    n: 'i32',
    to: 'i32',
    step: 'i32',
    columns: 'i32',
    factor: 'f64',
  });
  const c = new ComplexCode(f, dtype);
  const [to, tile, columns] = [f.param('to'), f.param('tile'), f.param('columns')];
  const end = f.let('end', sum(tile, scaled(f.param('n'), STEP)));
  const by = c.factor();
  f.loop((again) => {
    const result = c.scale(c.load(tile), by);
    if (isWhole) c.storePairs(to, result, inverse);
    else {
      const parts = c.paired(result, inverse);
      eachPair(f, dtype, columns, (vector, lane, offset) =>
        f.do(
          dtype === 'float64'
            ? memory('v128.store', offset, to, parts[vector])
            : laneMemory('v128.store64_lane', offset, lane, to, parts[vector]),
        ),
      );
    }
    f.set(to, sum(to, f.param('step')));
    f.set(tile, plus(tile, STEP));
    f.brIf(again, op('i32.lt_u', tile, end));
  });
  return f;
}

/** The function of columns; `inverse` has +2πi in the exponent. Parameters are those of `COLUMNS` and `factor`. Both places may be one. */
export function transformColumns(dtype: FourierDType, inverse: boolean): WasmFunction {
  const f = new WasmFunction('transform_columns', {
    ...Object.fromEntries(COLUMNS.map((name) => [name, 'i32' as const])),
    factor: 'f64',
  });
  const [from, to, step, n] = [f.param('from'), f.param('to'), f.param('step'), f.param('n')];
  const [rest, tile] = [f.param('rest'), f.param('tile')];
  const passes = runPasses(dtype, 'tile', inverse);
  const transform = (load: WasmFunction, store: WasmFunction, width: () => Code<'i32'>): void => {
    f.do(call(load, from, step, rest, tile, n));
    const done = f.let('done', call(passes, f.param('passes'), tile, f.param('other'), tile));
    f.do(call(store, done, n, to, step, rest, f.param<'f64'>('factor')));
    for (const place of [from, to]) f.set(place, sum(place, width()));
  };
  const whole = [loadColumns(dtype, inverse, true), storeColumns(dtype, inverse, true)] as const;
  const part = [loadColumns(dtype, inverse, false), storeColumns(dtype, inverse, false)] as const;
  // From the end of a plane's first numbers to the next plane.
  const others = f.let('others', op('i32.mul', step, plus(n, -1)));
  f.for('plane', i32(0), f.param('planes'), 1, () => {
    f.for('block', i32(0), f.param('blocks'), 1, () => transform(...whole, () => i32(STEP)));
    f.if(rest, () => transform(...part, () => scaled(rest, pairBytes(dtype))));
    for (const place of [from, to]) f.set(place, sum(place, others));
  });
  return f;
}
