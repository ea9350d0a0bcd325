/**
 * @file Transforms of rows that lie together in memory.
 *
 * The lanes of a vector are numbers next to each other: lane l has numbers l, l + L, l + 2 L, … of a row, so that rows are loaded as
 * they lie. `join_lanes` makes the transform of the row of those of the lanes. Real rows are taken for complex ones of half their
 * length, whose spectrum `combine` takes apart; half spectra take the same steps from behind.
 */
import { call, f32x4, f64, f64x2, i32, memory, op } from '../emit/code.js';
import type { Code, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { plus, scaled, sum } from '../matmul/index-code.js';
import { ComplexCode, type FourierDType, STEP, lanesOf, pairBytes } from './complex-code.js';
import { placesFrom, runPasses, transformOf } from './passes.js';

/** What comes in and goes out: complex numbers, or real ones and the first half of their spectrum. */
export type RowKind = 'complex' | 'realToHalf' | 'halfToReal';

/** The parameters of a function of rows: addresses, and distances in bytes. */
export const ROWS = [
  // The first row, and the distance between rows.
  'from',
  'fromRow',
  'to',
  'toRow',
  'rows',
  // Passes over a lane, and how many numbers it has.
  'passes',
  'm',
  // Twiddle factors of `join_lanes` and `combine`.
  'join',
  'combine',
  // Memory for the numbers of a row, twice for tiles, and as pairs.
  'tile',
  'other',
  'pairs',
] as const;

/** Arguments of a function of rows by name. */
export type Rows = Readonly<Record<(typeof ROWS)[number], number>>;

/**
 * `join_lanes(tile, to, join, m, factor)`: results k and k + m, k + 2 m, … of a row, from result k of each lane. Several k are done at
 * once; the last ones may have been done before.
 */
function joinLanes(dtype: FourierDType, inverse: boolean): WasmFunction {
  const f = new WasmFunction('join_lanes', {
    tile: 'i32',
    to: 'i32',
    join: 'i32',
    m: 'i32',
    factor: 'f64',
  });
  const c = new ComplexCode(f, dtype);
  const lanes = lanesOf(dtype);
  const bytes = dtype === 'float32' ? 4 : 8;
  const [tile, to, join, m] = [f.param('tile'), f.param('to'), f.param('join'), f.param('m')];
  const transform = transformOf(c, lanes);
  const by = c.factor();
  const tableStep = f.let('table_step', scaled(m, bytes));
  const toStep = f.let('to_step', scaled(m, pairBytes(dtype)));
  const last = f.let('last', plus(m, -lanes));
  const k = f.let('k', i32(0));
  f.block((done) => {
    f.loop((again) => {
      const at = f.let('at', sum(tile, scaled(k, STEP)));
      const rows = Array.from({ length: lanes }, () => {
        const row = c.load(at);
        f.set(at, plus(at, STEP));
        return row;
      });
      const re = c.transposed(rows.map((row) => row.re));
      const im = c.transposed(rows.map((row) => row.im));
      const table = f.let('table', sum(join, scaled(k, bytes)));
      const turned = re.map((part, l) => {
        const value = { re: part, im: im[l] };
        if (l === 0) return value;
        const factor: Local<'v128'>[] = [];
        for (let p = 0; p < 2; p++) {
          factor.push(c.loadVector(table));
          f.set(table, sum(table, tableStep));
        }
        return c.mul(value, { re: factor[0], im: factor[1] });
      });
      const first = f.let('first', sum(to, scaled(k, pairBytes(dtype))));
      const results = transform(turned);
      placesFrom(f, first, toStep, lanes).forEach((place, q) =>
        c.storePairs(place, c.scale(results[q], by), inverse),
      );
      f.brIf(done, op('i32.eq', k, last));
      f.set(k, plus(k, lanes));
      f.if(op('i32.gt_u', k, last), () => f.set(k, last));
      f.br(again);
    });
  });
  return f;
}

/** A vector of one pair, or of two. */
function pairVector(dtype: FourierDType, re: number, im: number): Code<'v128'> {
  return dtype === 'float32' ? f32x4(re, im) : f64x2(re, im);
}

/**
 * `combine(from, to, table, h, factor)`: number k is a + b* + g (a - b*), of numbers a at k and b at h - k, for k from 1 below h. This is
 * the step between a real row and a complex one of half its length, both ways, with other g.
 */
function combine(dtype: FourierDType): WasmFunction {
  const f = new WasmFunction('combine', {
    from: 'i32',
    to: 'i32',
    table: 'i32',
    h: 'i32',
    factor: 'f64',
  });
  const c = new ComplexCode(f, dtype);
  const [from, to, table, h] = [f.param('from'), f.param('to'), f.param('table'), f.param('h')];
  const bytes = pairBytes(dtype);
  const atOnce = lanesOf(dtype) / 2;
  const by = c.factor();
  const conjugate = f.let('conjugate', pairVector(dtype, 0, -0));
  const second = f.let('second', sum(table, scaled(h, bytes)));
  const last = f.let('last', plus(h, -atOnce));
  const k = f.let('k', i32(1));
  f.block((done) => {
    f.loop((again) => {
      const offset = f.let('offset', scaled(k, bytes));
      const a = c.loadVector(sum(from, offset));
      const behind = op('i32.sub', plus(h, 1 - atOnce), k);
      const b = f.let(
        'b',
        op('v128.xor', c.reversed(c.loadVector(sum(from, scaled(behind, bytes)))), conjugate),
      );
      const difference = c.difference(a, b);
      const turned = c.sum(
        c.product(difference, c.loadVector(sum(table, offset))),
        c.product(c.turned(difference), c.loadVector(sum(second, offset))),
      );
      const result = c.product(c.sum(c.sum(a, b), turned), by);
      f.do(memory('v128.store', 0, sum(to, offset), result));
      f.brIf(done, op('i32.eq', k, last));
      f.set(k, plus(k, atOnce));
      f.if(op('i32.gt_u', k, last), () => f.set(k, last));
      f.br(again);
    });
  });
  return f;
}

/** Reads and writes single numbers, as float64. */
function numbers(dtype: FourierDType): {
  readonly load: (address: Code<'i32'>) => Code<'f64'>;
  readonly store: (address: Code<'i32'>, offset: number, value: Code<'f64'>) => Code<'void'>;
} {
  if (dtype === 'float64')
    return {
      load: (address) => memory('f64.load', 0, address),
      store: (address, offset, value) => memory('f64.store', offset, address, value),
    };
  return {
    load: (address) => op('f64.promote_f32', memory('f32.load', 0, address)),
    store: (address, offset, value) =>
      memory('f32.store', offset, address, op('f32.demote_f64', value)),
  };
}

/**
 * `ends(from, to, other, factor)`: the sum and the difference of two real numbers. Of a spectrum they are results 0 and h, which are real;
 * of a half spectrum, both parts of number 0. Those that have no imaginary part get a zero.
 */
function ends(dtype: FourierDType, kind: 'realToHalf' | 'halfToReal'): WasmFunction {
  const f = new WasmFunction('ends', { from: 'i32', to: 'i32', far: 'i32', factor: 'f64' });
  const { load, store } = numbers(dtype);
  const part = pairBytes(dtype) / 2;
  const [from, to, far] = [f.param('from'), f.param('to'), f.param('far')];
  const gives = kind === 'realToHalf';
  const a = f.let('a', load(from));
  const b = f.let('b', load(gives ? plus(from, part) : sum(from, far)));
  const by = f.param<'f64'>('factor');
  const [total, difference] = [op('f64.add', a, b), op('f64.sub', a, b)];
  f.do(store(to, 0, op('f64.mul', total, by)));
  const other = gives ? f.let('other', sum(to, far)) : to;
  f.do(store(other, gives ? 0 : part, op('f64.mul', difference, by)));
  if (!gives) return f;
  const zero = f.local('f64', 'zero');
  for (const place of [to, other]) f.do(store(place, part, zero));
  return f;
}

/** The function of rows of a kind; `inverse` has +2πi in the exponent. Parameters are those of `ROWS` and `factor`. */
export function transformRows(dtype: FourierDType, kind: RowKind, inverse: boolean): WasmFunction {
  const f = new WasmFunction('transform_rows', {
    ...Object.fromEntries(ROWS.map((name) => [name, 'i32' as const])),
    factor: 'f64',
  });
  const [from, to, m, pairs] = [f.param('from'), f.param('to'), f.param('m'), f.param('pairs')];
  const factor = f.param<'f64'>('factor');
  const one = f.let('one', f64(1));
  const [passes, join] = [runPasses(dtype, 'row', inverse), joinLanes(dtype, inverse)];
  const h = f.let('h', scaled(m, lanesOf(dtype)));
  const far = f.let('far', scaled(h, pairBytes(dtype)));
  const transform = (source: Local<'i32'>, target: Local<'i32'>, by: Local<'f64'>): void => {
    const tile = f.let(
      'done',
      call(passes, f.param('passes'), source, f.param('tile'), f.param('other')),
    );
    f.do(call(join, tile, target, f.param('join'), m, by));
  };
  const half = f.let('half', op('f64.mul', factor, f64(0.5)));
  f.for('row', i32(0), f.param('rows'), 1, () => {
    if (kind === 'complex') transform(from, to, factor);
    else {
      const isReal = kind === 'realToHalf';
      const [source, target] = isReal ? [pairs, to] : [from, pairs];
      if (isReal) transform(from, pairs, one);
      f.do(call(ends(dtype, kind), source, target, far, factor));
      f.do(call(combine(dtype), source, target, f.param('combine'), h, isReal ? half : factor));
      if (!isReal) transform(pairs, to, one);
    }
    for (const [place, step] of [
      [from, 'fromRow'],
      [to, 'toRow'],
    ] as const)
      f.set(place, sum(place, f.param(step)));
  });
  return f;
}
