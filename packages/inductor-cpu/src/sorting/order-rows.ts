/**
 * @file `order_rows`: writes the first elements of sorted rows, and the positions that these have.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { call, i32, memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled } from '../matmul/index-code.js';
import { copyElement } from '../selection/elements.js';
import { bestOfRow } from './best-of-row.js';
import { COUNT_BYTES, PAIR, sortPairs } from './sort-pairs.js';
import { sortRow } from './sort-row.js';

/** The parameters of `order_rows`: addresses, and distances in bytes. All are 32-bit integers. */
export const ORDER_ROWS = [
  // The first element of the first row, the distance between rows, and that between elements of a row.
  'from',
  'fromRow',
  'fromStep',
  'values',
  'valuesRow',
  'valuesStep',
  'indices',
  'indicesRow',
  'indicesStep',
  'rows',
  // Elements of a row, and how many of them are wanted.
  'length',
  'wanted',
  // -1 if the largest element comes first, else 0.
  'flip',
  // Memory of `scratchBytes(length)`.
  'scratch',
] as const;

/** Arguments of `order_rows` by name. */
export type OrderRows = Readonly<Record<(typeof ORDER_ROWS)[number], number>>;

/** Bytes that ordering a row takes: for counts, and for pairs twice. */
export function scratchBytes(length: number): number {
  return COUNT_BYTES + 2 * PAIR * length;
}

/** Rows of which at least the fourth part is wanted are sorted whole. */
const FRACTION = 4;

/** `order_rows` for elements of a dtype. */
export function orderRows(dtype: DType): WasmFunction {
  const f = new WasmFunction(
    'order_rows',
    Object.fromEntries(ORDER_ROWS.map((name) => [name, 'i32' as const])),
  );
  const [from, step, length, wanted] = [
    f.param('from'),
    f.param('fromStep'),
    f.param('length'),
    f.param('wanted'),
  ];
  const counts = f.param('scratch');
  const pairs = f.let('pairs', op('i32.add', counts, i32(COUNT_BYTES)));
  const other = f.let('other', op('i32.add', pairs, scaled(length, PAIR)));
  const sort = sortPairs();
  const sortWhole = sortRow(dtype, sort, true);
  const sortBest = bestOfRow(dtype, sortRow(dtype, sort, false));
  const write = writeFirst(dtype);
  const isFew = f.let('is_few', op('i32.lt_u', wanted, op('i32.div_u', length, i32(FRACTION))));
  const sorted = f.local('i32', 'sorted');
  const row = [from, step, length, f.param('flip'), pairs, other, counts];
  f.for('row', i32(0), f.param('rows'), 1, () => {
    f.if(
      isFew,
      () => f.set(sorted, call(sortBest, ...row, wanted)),
      () => f.set(sorted, call(sortWhole, ...row)),
    );
    const places = ['values', 'valuesStep', 'indices', 'indicesStep'].map((name) => f.param(name));
    f.do(call(write, from, step, sorted, wanted, ...places));
    for (const name of ['from', 'values', 'indices'])
      f.set(f.param(name), op('i32.add', f.param(name), f.param(`${name}Row`)));
  });
  return f;
}

/** `write_first(from, step, pairs, count, …)`: writes the elements and positions of the first pairs. */
function writeFirst(dtype: DType): WasmFunction {
  const f = new WasmFunction('write_first', {
    from: 'i32',
    step: 'i32',
    pairs: 'i32',
    count: 'i32',
    values: 'i32',
    valuesStep: 'i32',
    indices: 'i32',
    indicesStep: 'i32',
  });
  const [values, indices, pairs] = [f.param('values'), f.param('indices'), f.param('pairs')];
  f.for('i', i32(0), f.param('count'), 1, () => {
    const position = f.let('position', memory('i32.load', 0, pairs));
    const address = op('i32.add', f.param('from'), op('i32.mul', position, f.param('step')));
    f.do(copyElement(itemSize(dtype), values, address));
    f.do(memory('i64.store', 0, indices, op('i64.extend_i32_u', position)));
    f.set(pairs, op('i32.add', pairs, i32(PAIR)));
    f.set(values, op('i32.add', values, f.param('valuesStep')));
    f.set(indices, op('i32.add', indices, f.param('indicesStep')));
  });
  return f;
}
