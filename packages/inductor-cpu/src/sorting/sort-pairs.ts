/**
 * @file Stable sorting of pairs: a position in the lower half of a 64-bit word, a key in the upper half.
 *
 * A few pairs are sorted by insertion, more by their digits, the last one first: a digit of a key takes one pass over all pairs,
 * and one that all keys share takes none. Many pairs have digits of 11 bits, which are fewer; the counts of those do not
 * pay where there are not as many pairs.
 */
import { call, i32, i64, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { scaled } from '../matmul/index-code.js';

/** Bytes of a pair. */
export const PAIR = 8;
/** So many pairs are sorted by insertion. */
export const FEW: number = 64;
/** From so many on digits have 11 bits. */
const MANY = 3000;

/** Bytes of counts: of three digits of 11 bits. */
export const COUNT_BYTES: number = 4 * (3 << 11);

/** `insert(pairs, end)`: sorts the pairs between two addresses. */
function insertion(): WasmFunction {
  const f = new WasmFunction('insert', { pairs: 'i32', end: 'i32' });
  const pairs = f.param('pairs');
  f.for('next', op('i32.add', pairs, i32(PAIR)), f.param('end'), PAIR, (next) => {
    const pair = f.let('pair', memory('i64.load', 0, next));
    const key = f.let('key', keyOf(pair));
    const to = f.let('to', next);
    f.block((done) => {
      f.loop((again) => {
        const before = f.let('before', memory('i64.load', 0, op('i32.sub', to, i32(PAIR))));
        f.brIf(done, op('i32.le_u', keyOf(before), key));
        f.do(memory('i64.store', 0, to, before));
        f.set(to, op('i32.sub', to, i32(PAIR)));
        f.brIf(again, op('i32.gt_u', to, pairs));
      });
    });
    f.do(memory('i64.store', 0, to, pair));
  });
  return f;
}

function keyOf(pair: Code<'i64'>): Code<'i32'> {
  return op('i32.wrap_i64', op('i64.shr_u', pair, i64(32)));
}

/** `move(from, end, counts, shift)`: moves pairs to the places of a digit, which `counts` has as addresses. */
function move(bits: number): WasmFunction {
  const f = new WasmFunction(`move_${bits}`, {
    from: 'i32',
    end: 'i32',
    counts: 'i32',
    shift: 'i32',
  });
  const shift = f.let('long_shift', op('i64.extend_i32_u', f.param('shift')));
  const counts = f.param('counts');
  f.for('at', f.param('from'), f.param('end'), PAIR, (at) => {
    const pair = f.let('pair', memory('i64.load', 0, at));
    const digit = op('i32.wrap_i64', op('i64.shr_u', pair, shift));
    const place = f.let('place', counter(counts, op('i32.and', digit, i32((1 << bits) - 1))));
    const to = f.let('to', memory('i32.load', 0, place));
    f.do(memory('i32.store', 0, place, op('i32.add', to, i32(PAIR))));
    f.do(memory('i64.store', 0, to, pair));
  });
  return f;
}

/** Address of the count of a digit. */
function counter(counts: Code<'i32'>, digit: Code<'i32'>): Code<'i32'> {
  return op('i32.add', counts, scaled(digit, 4));
}

/** `radix(pairs, other, bytes, counts)`: sorts by digits of `bits` bits; gives the one of two places where the pairs are then. */
function radix(bits: number): WasmFunction<'i32'> {
  const f = new WasmFunction(
    `radix_${bits}`,
    { pairs: 'i32', other: 'i32', bytes: 'i32', counts: 'i32' },
    'i32',
  );
  const digits = Math.ceil(32 / bits);
  const [counts, bytes] = [f.param('counts'), f.param('bytes')];
  const from = f.let('from', f.param('pairs'));
  const to = f.let('to', f.param('other'));
  const digitOf = (key: Code<'i32'>, d: number): Code<'i32'> => {
    const shifted = d === 0 ? key : op('i32.shr_u', key, i32(d * bits));
    return (d + 1) * bits >= 32 ? shifted : op('i32.and', shifted, i32((1 << bits) - 1));
  };
  const end = f.let('end', op('i32.add', from, bytes));
  f.do(op('memory.fill', counts, i32(0), i32(digits * (4 << bits))));
  f.for('at', from, end, PAIR, (at) => {
    const key = f.let('key', memory('i32.load', 4, at));
    for (let d = 0; d < digits; d++) {
      const place = f.let('place', counter(counts, digitOf(key, d)));
      const offset = d * (4 << bits);
      const more = op('i32.add', memory('i32.load', offset, place), i32(1));
      f.do(memory('i32.store', offset, place, more));
    }
  });
  const moved = move(bits);
  const count = f.let('count', op('i32.shr_u', bytes, i32(3)));
  for (let d = 0; d < digits; d++) {
    const own = f.let('own', op('i32.add', counts, i32(d * (4 << bits))));
    const first = counter(own, digitOf(memory('i32.load', 4, from), d));
    f.if(op('i32.ne', memory('i32.load', 0, first), count), () => {
      const place = f.let('start', to);
      const last = f.let('last', op('i32.add', own, i32(4 << Math.min(bits, 32 - d * bits))));
      f.for('at', own, last, 4, (at) => {
        const here = f.let('here', memory('i32.load', 0, at));
        f.do(memory('i32.store', 0, at, place));
        f.set(place, op('i32.add', place, scaled(here, PAIR)));
      });
      const stop = op('i32.add', from, bytes);
      f.do(call(moved, from, stop, own, i32(32 + d * bits)));
      const swapped = f.let('swapped', from);
      f.set(from, to);
      f.set(to, swapped);
    });
  }
  f.return(from);
  return f;
}

/** `sort_pairs(pairs, other, count, counts)`: sorts pairs by key; gives the one of two places where they are then. */
export function sortPairs(): WasmFunction<'i32'> {
  const f = new WasmFunction(
    'sort_pairs',
    { pairs: 'i32', other: 'i32', count: 'i32', counts: 'i32' },
    'i32',
  );
  const [pairs, other, count, counts] = ['pairs', 'other', 'count', 'counts'].map(
    (name): Local<'i32'> => f.param(name),
  );
  const bytes = f.let('bytes', scaled(count, PAIR));
  f.if(op('i32.le_u', count, i32(FEW)), () => {
    f.do(call(insertion(), pairs, op('i32.add', pairs, bytes)));
    f.return(pairs);
  });
  f.if(op('i32.lt_u', count, i32(MANY)), () =>
    f.return(call(radix(8), pairs, other, bytes, counts)),
  );
  f.return(call(radix(11), pairs, other, bytes, counts));
  return f;
}
