/**
 * @file `best_of_row`: sorts the first few elements that a sorted row would have.
 *
 * Positions of candidates are collected and sorted when there are more than twice as many as are wanted. Those that are not
 * among the best are dropped, and what comes after the last of the best is no candidate from then on.
 */
import type { DType } from '@tessera/tensor';
import { call, i32, i32x4, memory, op } from '../emit/code.js';
import type { DefinedFunction, Label, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { advance, minimum, scaled } from '../matmul/index-code.js';
import { wholeKey } from './sort-keys.js';
import { PAIR } from './sort-pairs.js';
import { rowFunction, type RowParams } from './sort-row.js';

/** Candidates beyond twice the number that is wanted. */
const MORE_CANDIDATES = 16;
/** Elements that are looked at together. */
const BLOCK = 16;

/** See the file header. @param sort `sort_positions` */
export function bestOfRow(
  dtype: DType,
  sort: DefinedFunction & { readonly result: 'i32' },
): WasmFunction<'i32'> {
  const { f, row } = rowFunction('best_of_row', { wanted: 'i32' });
  const { from, step, length, flip, pairs, other, counts } = row;
  const wanted = f.param('wanted');
  const most = minimum(f, 'most', op('i32.add', scaled(wanted, 2), i32(MORE_CANDIDATES)), length);
  const last = f.local('i32', 'last');
  const limit = f.local('i64', 'limit');
  const found = f.let('found', i32(0));
  const add = (position: Local<'i32'>): void => {
    f.do(memory('i32.store', 0, op('i32.add', pairs, scaled(found, PAIR)), position));
    advance(f, found, 1);
  };
  const keepBest = (): void => {
    const sorted = f.let('sorted', call(sort, from, step, found, flip, pairs, other, counts));
    f.if(op('i32.ne', sorted, pairs), () => {
      f.set(other, pairs);
      f.set(pairs, sorted);
    });
    f.set(found, wanted);
    const place = op('i32.add', pairs, scaled(op('i32.sub', wanted, i32(1)), PAIR));
    f.set(last, op('i32.add', from, op('i32.mul', memory('i32.load', 0, place), step)));
    f.set(limit, wholeKey(f, dtype, last, flip));
  };
  f.for('first', i32(0), most, 1, add);
  keepBest();
  const i = f.let('i', most);
  const at = f.let('at', op('i32.add', from, op('i32.mul', most, step)));
  f.while(
    () => op('i32.lt_u', i, length),
    () => {
      if (dtype === 'float32') skipElements(f, row, i, at, last);
      const left = f.let('left', minimum(f, 'block', op('i32.sub', length, i), i32(BLOCK)));
      const end = f.let('end', op('i32.add', i, left));
      f.while(
        () => op('i32.lt_u', i, end),
        () => {
          f.if(op('i64.lt_u', wholeKey(f, dtype, at, flip), limit), () => {
            add(i);
            f.if(op('i32.eq', found, most), keepBest);
          });
          advance(f, i, 1);
          f.set(at, op('i32.add', at, step));
        },
      );
    },
  );
  keepBest();
  f.return(pairs);
  return f;
}

/**
 * Skips blocks of adjacent float32 without a candidate, none of which comes before the best of those that were found: the
 * last one. A NaN never does so by this comparison, and makes a block one to look at.
 */
function skipElements(
  f: WasmFunction<'i32'>,
  { step, length, flip }: RowParams,
  i: Local<'i32'>,
  at: Local<'i32'>,
  last: Local<'i32'>,
): void {
  const sign = f.let('sign', op('v128.andnot', i32x4(1 << 31), op('i32x4.splat', flip)));
  const limit = f.let('limits', op('v128.xor', memory('v128.load32_splat', 0, last), sign));
  const isFar = (offset: number) =>
    op('f32x4.le', op('v128.xor', memory('v128.load', offset, at), sign), limit);
  f.block((done: Label) => {
    f.brIf(done, op('i32.ne', step, i32(4)));
    f.loop((again) => {
      f.brIf(done, op('i32.lt_u', op('i32.sub', length, i), i32(BLOCK)));
      const far = op(
        'v128.and',
        op('v128.and', isFar(0), isFar(16)),
        op('v128.and', isFar(32), isFar(48)),
      );
      f.brIf(done, op('v128.any_true', op('v128.not', far)));
      advance(f, i, BLOCK);
      advance(f, at, 4 * BLOCK);
      f.br(again);
    });
  });
}
