/**
 * @file `best_of_row`: sorts the first few elements that a sorted row would have.
 *
 * Positions of candidates are collected, and sorted when there are some more than are wanted. Those that are not
 * among the best are dropped, and what comes after the last of the best is no candidate from then on.
 */
import type { DType } from '@tessera/tensor';
import { call, f32, f32x4, i32, i32x4, i64, memory, op, select } from '../emit/code.js';
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
/** Elements of a row that are a sample. */
const SAMPLE = 4096;
/** So few of the best are bounded by the best elements of as many groups as a block has elements. */
const MOST_SAMPLED = 12;

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
  const far = f.local('f32', 'far');
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
    const last = f.let(
      'last',
      op('i32.add', from, op('i32.mul', memory('i32.load', 0, place), step)),
    );
    f.set(limit, wholeKey(f, dtype, last, flip));
    if (dtype === 'float32') f.set(far, memory('f32.load', 0, last));
  };
  const start = (): void => {
    f.for('first', i32(0), most, 1, add);
    keepBest();
  };
  if (dtype === 'float32')
    f.if(isSampled(row, wanted), () => setBound(f, row, wanted, sort, limit, far), start);
  else start();
  const i = f.let('i', found);
  f.if(found, () => f.set(i, most));
  const at = f.let('at', op('i32.add', from, op('i32.mul', i, step)));
  f.while(
    () => op('i32.lt_u', i, length),
    () => {
      if (dtype === 'float32') {
        skipElements(f, row, i, at, far, BLOCK);
        skipElements(f, row, i, at, far, LANES);
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

/** Whether the best elements are so few that a sample bounds them. */
function isSampled({ step, length }: RowParams, wanted: Local<'i32'>): Code<'i32'> {
  const isFew = op('i32.le_u', wanted, i32(MOST_SAMPLED));
  const isLong = op('i32.ge_u', length, i32(4 * BLOCK));
  return op('i32.and', op('i32.eq', step, i32(4)), op('i32.and', isFew, isLong));
}

/**
 * Finds a bound that as many elements as are wanted reach, so that there are few candidates from the start: of the best elements
 * of sixteen groups in the first part of the row, the last that would be wanted.
 */
function setBound(
  f: WasmFunction<'i32'>,
  { from, length, flip, pairs, other, counts }: RowParams,
  wanted: Local<'i32'>,
  sort: DefinedFunction & { readonly result: 'i32' },
  limit: Local<'i64'>,
  far: Local<'f32'>,
): void {
  const sign = f.let('sign', signOf(flip));
  const best = Array.from({ length: BLOCK / LANES }, () => f.let('best', f32x4(-Infinity)));
  const size = minimum(f, 'sample', length, i32(SAMPLE));
  f.set(size, op('i32.and', size, i32(-BLOCK)));
  const end = f.let('sample_end', op('i32.add', from, scaled(size, 4)));
  f.for('sampled', from, end, 4 * BLOCK, (at) => {
    for (const [v, own] of best.entries())
      // Not replaced by a NaN.
      f.set(own, op('f32x4.pmax', own, op('v128.xor', memory('v128.load', 16 * v, at), sign)));
  });
  for (const [v, own] of best.entries())
    f.do(memory('v128.store', 16 * v, other, op('v128.xor', own, sign)));
  for (let g = 0; g < BLOCK; g++) f.do(memory('i32.store', PAIR * g, pairs, i32(g)));
  // So few are sorted where they are.
  f.do(call(sort, other, i32(4), i32(BLOCK), flip, pairs, other, counts));
  const place = op('i32.add', pairs, scaled(op('i32.sub', wanted, i32(1)), PAIR));
  const bound = f.let('bound', op('i32.add', other, scaled(memory('i32.load', 0, place), 4)));
  // Of equal elements the first are wanted, and of a group without numbers anything may be.
  f.set(far, memory('f32.load', 0, bound));
  const isInfinite = f.let('is_infinite', op('f32.eq', op('f32.abs', far), f32(Infinity)));
  const reaching = op('i64.add', wholeKey(f, 'float32', bound, flip), i64(1));
  f.set(limit, select(i64(-1), reaching, isInfinite));
  // A little further, so that what equals the bound is looked at; no number is further than NaN.
  const margin = op('f32.add', op('f32.mul', op('f32.abs', far), f32(1e-6)), f32(1e-37));
  const further = op('f32.sub', far, op('f32.copysign', margin, select(f32(1), f32(-1), flip)));
  f.set(far, select(f32(NaN), further, isInfinite));
}

/** What makes the best element the largest: the sign's bit for an order from the smallest. */
function signOf(flip: Local<'i32'>): Code<'v128'> {
  return op('v128.andnot', i32x4(1 << 31), op('i32x4.splat', flip));
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
  far: Local<'f32'>,
  block: number,
): void {
  const sign = f.let('sign', signOf(flip));
  const limit = f.let('limits', op('v128.xor', op('f32x4.splat', far), sign));
  const isFar = (lane: number): Code<'v128'> =>
    op('f32x4.le', op('v128.xor', memory('v128.load', 4 * lane, at), sign), limit);
  f.block((done) => {
    f.brIf(done, op('i32.ne', step, i32(4)));
    f.loop((again) => {
      f.brIf(done, op('i32.lt_u', op('i32.sub', length, i), i32(block)));
      let all = isFar(0);
      for (let lane = LANES; lane < block; lane += LANES) all = op('v128.and', all, isFar(lane));
      f.brIf(done, op('v128.any_true', op('v128.not', all)));
      advance(f, i, block);
      advance(f, at, 4 * block);
      f.br(again);
    });
  });
}
