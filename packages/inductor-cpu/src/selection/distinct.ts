/**
 * @file `distinct`: the first of each run of equal elements, the run of each, how long they are.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { i32, i64, memory, op } from '../emit/code.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance, scaled } from '../matmul/index-code.js';
import { copyElement, differ } from './elements.js';

/**
 * `distinct(from, count, to, positions, runs, lengths)`: of adjacent elements, writes the first of each run of equal ones to `to`,
 * and gives how many there are. The number of the run of each element goes to `runs`, int64, at its place or, unless `positions` is 0,
 * the one that it has of int64 there; how long runs are goes to `lengths`, int64. Nothing is written at 0. `to` may be `from`.
 */
export function distinct(dtype: DType): WasmFunction<'i32'> {
  const f = new WasmFunction(
    'distinct',
    { from: 'i32', count: 'i32', to: 'i32', positions: 'i32', runs: 'i32', lengths: 'i32' },
    'i32',
  );
  const [at, to, positions, runs, lengths] = [
    f.param('from'),
    f.param('to'),
    f.param('positions'),
    f.param('runs'),
    f.param('lengths'),
  ];
  const bytes = itemSize(dtype);
  const last = f.let('last', i32(-1));
  f.for('i', i32(0), f.param('count'), 1, (i) => {
    const isFirst = f.let('is_first', op('i32.eqz', i));
    f.if(i, () => f.set(isFirst, differ(f, dtype, at, op('i32.sub', at, i32(bytes)))));
    f.if(isFirst, () => {
      f.do(copyElement(bytes, to, at));
      advance(f, to, bytes);
      advance(f, last, 1);
      f.if(lengths, () =>
        f.do(memory('i64.store', 0, op('i32.add', lengths, scaled(last, 8)), i64(0))),
      );
    });
    f.if(lengths, () => {
      const place = f.let('length', op('i32.add', lengths, scaled(last, 8)));
      f.do(memory('i64.store', 0, place, op('i64.add', memory('i64.load', 0, place), i64(1))));
    });
    f.if(runs, () => {
      const own = f.let('own', i);
      f.if(positions, () =>
        f.set(own, memory('i32.load', 0, op('i32.add', positions, scaled(i, 8)))),
      );
      const place = op('i32.add', runs, scaled(own, 8));
      f.do(memory('i64.store', 0, place, op('i64.extend_i32_u', last)));
    });
    advance(f, at, bytes);
  });
  f.return(op('i32.add', last, i32(1)));
  return f;
}
