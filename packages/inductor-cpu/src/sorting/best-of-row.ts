/**
 * @file `best_of_row`: sorts the first few elements that a sorted row would have.
 *
 * Positions of candidates are collected, and sorted when there are some more than are wanted. Those that are not
 * among the best are dropped, and what comes after the last of the best is no candidate from then on.
 */
import type { DType } from '@tessera/tensor';
import { call, i32, i32x4, memory, op, select } from '../emit/code.js';
import type { Code, DefinedFunction, Local } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';
import { advance, minimum, scaled } from '../matmul/index-code.js';
import { wholeKey } from './sort-keys.js';
import { FEW, PAIR } from './sort-pairs.js';
import { rowFunction, type RowParams } from './sort-row.js';

/** Elements that are looked at together. */
const BLOCK = 16;
/** Elements of a vector. */
const LANES = 4;

/** See the file header. @param sort `sort_positions` */
export function bestOfRow(
  dtype: DType,
  sort: DefinedFunction & { readonly result: 'i32' },
): WasmFunction<'i32'> {
  const { f, row } = rowFunction('best_of_row', { wanted: 'i32' });
  const { from, step, length, flip, pairs, other, counts } = row;
  const wanted = f.param('wanted');
  const most = f.let('most', mostCandidates(wanted));
  f.set(most, minimum(f, 'row', most, length));
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
      if (dtype === 'float32') {
        skipElements(f, row, i, at, last, BLOCK);
        skipElements(f, row, i, at, last, LANES);
      }
      const left = f.let('left', minimum(f, 'block', op('i32.sub', length, i), i32(LANES)));
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
 * How many candidates are sorted together. The wanted ones among them are in order already: a few others are inserted between
 * them, and more are sorted by digits, which takes as many passes however many they are.
 */
function mostCandidates(wanted: Local<'i32'>): Code<'i32'> {
  return select(
    op('i32.add', wanted, op('i32.add', op('i32.shr_u', wanted, i32(1)), i32(4))),
    op('i32.add', scaled(wanted, 2), i32(16)),
    op('i32.le_u', wanted, i32(FEW / 2)),
  );
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
  block: number,
): void {
  const sign = f.let('sign', op('v128.andnot', i32x4(1 << 31), op('i32x4.splat', flip)));
  const limit = f.let('limits', op('v128.xor', memory('v128.load32_splat', 0, last), sign));
  const isFar = (lane: number): Code<'v128'> =>
    op('f32x4.le', op('v128.xor', memory('v128.load', 4 * lane, at), sign), limit);
  f.block((done) => {
    f.brIf(done, op('i32.ne', step, i32(4)));
    f.loop((again) => {
      f.brIf(done, op('i32.lt_u', op('i32.sub', length, i), i32(block)));
      let far = isFar(0);
      for (let lane = LANES; lane < block; lane += LANES) far = op('v128.and', far, isFar(lane));
      f.brIf(done, op('v128.any_true', op('v128.not', far)));
      advance(f, i, block);
      advance(f, at, 4 * block);
      f.br(again);
    });
  });
}
