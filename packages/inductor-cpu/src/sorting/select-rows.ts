/**
 * @file `select_rows`: writes the element of each row that has a given rank, and its position.
 *
 * Which of several equal elements is named is PyTorch's choice: of the k-th smallest, the one that its quickselect leaves there
 * (the median of three is the pivot); of medians, the one that a stable sort puts there.
 */
import { type DType, itemSize } from '@tessera/tensor';
import { call, i32, i64, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance, plus, scaled } from '../matmul/index-code.js';
import { copyElement } from '../selection/elements.js';
import { hasLongKeys, wholeKey } from './sort-keys.js';

/** The parameters of `select_rows`: addresses, and distances in bytes. All are 32-bit integers. */
export const SELECT_ROWS = [
  'from',
  'fromRow',
  'fromStep',
  'values',
  'valuesRow',
  // 0 if positions are not wanted.
  'indices',
  'indicesRow',
  'rows',
  'length',
  // From 0 on, or `MEDIAN`, or `NANMEDIAN`.
  'rank',
  // Memory of `RECORD` bytes for each element.
  'scratch',
] as const;

/** Rank of the lower median, which is NaN if anything is. */
export const MEDIAN = -1;
/** Rank of the lower median of what is not NaN. */
export const NANMEDIAN = -2;

/** Arguments of `select_rows` by name. */
export type SelectRows = Readonly<Record<(typeof SELECT_ROWS)[number], number>>;

/** Bytes of a record: a key, and a position. */
export const RECORD = 16;
/** Of a record, where the position is. */
const POSITION = 8;

/** `quickselect(records, count, rank)`: exchanges records until the one of a rank is in its place, step by step as PyTorch does. */
function quickselect(): WasmFunction {
  const f = new WasmFunction('quickselect', { records: 'i32', count: 'i32', rank: 'i32' });
  const records = f.param('records');
  const placeOf = (i: Code<'i32'>): Code<'i32'> => op('i32.add', records, scaled(i, RECORD));
  const key = (at: Code<'i32'>): Code<'i64'> => memory('i64.load', 0, at);
  const swap = (a: Local<'i32'>, b: Local<'i32'>): void => {
    const record = f.let('record', memory('v128.load', 0, a));
    f.do(memory('v128.store', 0, a, memory('v128.load', 0, b)));
    f.do(memory('v128.store', 0, b, record));
  };
  const swapIfAfter = (a: Local<'i32'>, b: Local<'i32'>): void =>
    f.if(op('i64.gt_u', key(a), key(b)), () => swap(a, b));
  // Addresses of records.
  const left = f.let('left', records);
  const right = f.let('right', placeOf(op('i32.sub', f.param('count'), i32(1))));
  const wanted = f.let('wanted', placeOf(f.param('rank')));
  f.while(
    () => op('i32.gt_u', right, left),
    () => {
      const next = f.let('next', plus(left, RECORD));
      f.if(op('i32.eq', right, next), () => {
        swapIfAfter(left, right);
        f.return();
      });
      const span = op('i32.add', op('i32.sub', left, records), op('i32.sub', right, records));
      const middle = f.let(
        'middle',
        op('i32.add', records, op('i32.and', op('i32.shr_u', span, i32(1)), i32(-RECORD))),
      );
      swap(middle, next);
      swapIfAfter(next, right);
      swapIfAfter(left, right);
      swapIfAfter(next, left);
      const pivot = f.let('pivot', key(left));
      const i = f.let('i', next);
      const j = f.let('j', right);
      f.block((done) => {
        f.loop((again) => {
          f.loop((up) => {
            advance(f, i, RECORD);
            f.brIf(up, op('i64.gt_u', pivot, key(i)));
          });
          f.loop((down) => {
            advance(f, j, -RECORD);
            f.brIf(down, op('i64.gt_u', key(j), pivot));
          });
          f.brIf(done, op('i32.lt_u', j, i));
          swap(i, j);
          f.br(again);
        });
      });
      swap(left, j);
      const isBelow = f.let('is_below', op('i32.le_u', j, wanted));
      f.if(op('i32.ge_u', j, wanted), () => f.set(right, plus(j, -RECORD)));
      f.if(isBelow, () => f.set(left, i));
    },
  );
  return f;
}

/** The key of a NaN among those of a float dtype. */
function nanKey(dtype: DType): bigint | null {
  if (!dtype.includes('float')) return null;
  if (hasLongKeys(dtype)) return -1n;
  return dtype === 'float32' ? 0xffffffffn : 0xffff0000n;
}

/** `select_rows` for elements of a dtype. */
export function selectRows(dtype: DType): WasmFunction {
  const f = new WasmFunction(
    'select_rows',
    Object.fromEntries(SELECT_ROWS.map((name) => [name, 'i32' as const])),
  );
  const [from, step, length, rank, records] = (
    ['from', 'fromStep', 'length', 'rank', 'scratch'] as const
  ).map((name) => f.param(name));
  const noFlip = f.let('no_flip', i32(0));
  const isMedian = f.let('is_median', op('i32.lt_s', rank, i32(0)));
  const position = f.local('i32', 'position');
  const nan = nanKey(dtype);
  const select = quickselect();
  const placeOf = (i: Code<'i32'>): Code<'i32'> => op('i32.add', records, scaled(i, RECORD));
  f.for('row', i32(0), f.param('rows'), 1, () => {
    const nans = f.let('nans', i32(0));
    const at = f.let('at', from);
    f.for('i', i32(0), length, 1, (i) => {
      const key = f.let('key', wholeKey(f, dtype, at, noFlip));
      const place = f.let('place', placeOf(i));
      f.do(memory('i64.store', 0, place, key));
      f.do(memory('i32.store', POSITION, place, i));
      if (nan !== null)
        f.if(op('i64.eq', key, i64(nan)), () => {
          // The first one.
          f.if(op('i32.eqz', nans), () => f.set(position, i));
          advance(f, nans, 1);
        });
      f.set(at, op('i32.add', at, step));
    });
    f.block((done) => {
      const own = f.let('own', rank);
      f.if(isMedian, () => {
        const isWhole = op('i32.and', op('i32.ne', nans, i32(0)), op('i32.eq', rank, i32(MEDIAN)));
        f.brIf(done, op('i32.or', isWhole, op('i32.eq', nans, length)));
        const counted = op('i32.sub', op('i32.sub', length, nans), i32(1));
        f.set(own, op('i32.shr_u', counted, i32(1)));
      });
      f.do(call(select, records, length, own));
      const chosen = f.let('chosen', placeOf(own));
      f.set(position, memory('i32.load', POSITION, chosen));
      f.brIf(done, op('i32.eqz', isMedian));
      const key = f.let('chosen_key', memory('i64.load', 0, chosen));
      const passed = f.let('passed', i32(0));
      f.for('before', records, chosen, RECORD, (before) =>
        f.set(passed, op('i32.add', passed, op('i64.eq', memory('i64.load', 0, before), key))),
      );
      f.set(position, i32(0));
      f.set(at, from);
      f.loop((again) => {
        f.if(op('i64.eq', wholeKey(f, dtype, at, noFlip), key), () => {
          f.brIf(done, op('i32.eqz', passed));
          advance(f, passed, -1);
        });
        advance(f, position, 1);
        f.set(at, op('i32.add', at, step));
        f.br(again);
      });
    });
    const source = op('i32.add', from, op('i32.mul', position, step));
    f.do(copyElement(itemSize(dtype), f.param('values'), source));
    f.if(f.param('indices'), () => {
      f.do(memory('i64.store', 0, f.param('indices'), op('i64.extend_i32_u', position)));
    });
    for (const name of ['from', 'values', 'indices'] as const)
      f.set(f.param(name), op('i32.add', f.param(name), f.param(`${name}Row`)));
  });
  return f;
}
