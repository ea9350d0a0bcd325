/**
 * @file `run_passes`: transforms of all lanes of a tile at once, in the Stockham form of the mixed-radix algorithm, which sorts as it
 * goes.
 *
 * A pass splits each of `s` interleaved transforms of length r · m into r of length m. With p below m, and k and j below r,
 *
 *     y[r p + j] = exp(-2πi p j / (r m)) · Σ exp(-2πi k j / r) · x[p + m k]
 *
 * where each place is one of `s` vectors. @see Swarztrauber, "FFT algorithms for vector computers", 1984
 */
import { call, i32, memory, op } from '../emit/code.js';
import type { DefinedFunction, Local } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { advance, sum } from '../matmul/index-code.js';
import { type Complex, ComplexCode, type FourierDType, STEP } from './complex-code.js';

/** Factors that there are passes of, in the order in which they are split off. */
export const RADICES: readonly number[] = [4, 2, 3, 5, 7];

/** Words of a list of passes: how many there are, and of each the radix, `m`, `s`, and the address of its twiddle factors. */
export const PASS_WORDS = 4;

/** The transform of r numbers. */
type Butterfly = (a: readonly Complex[]) => Complex[];

function two(c: ComplexCode): Butterfly {
  return ([a, b]) => [c.add(a, b), c.sub(a, b)];
}

function four(c: ComplexCode): Butterfly {
  return (a) => {
    const [even, odd] = [c.add(a[0], a[2]), c.add(a[1], a[3])];
    const [first, second] = [c.sub(a[0], a[2]), c.sub(a[1], a[3])];
    return [
      c.add(even, odd),
      c.subTurned(first, second),
      c.sub(even, odd),
      c.addTurned(first, second),
    ];
  };
}

/** Results j and r - j are made of the same sums and differences. */
function odd(c: ComplexCode, r: number): Butterfly {
  const half = (r - 1) / 2;
  const angles = Array.from({ length: half }, (_, k) => (2 * Math.PI * (k + 1)) / r);
  const cosines = angles.map((angle) => c.constant(Math.cos(angle)));
  const sines = angles.map((angle) => c.constant(Math.sin(angle)));
  return (a) => {
    const pairs = angles.map((_, k) => [a[k + 1], a[r - 1 - k]] as const);
    const sums = pairs.map(([x, y]) => c.add(x, y));
    const differences = pairs.map(([x, y]) => c.sub(x, y));
    const results = [sums.reduce((total, each) => c.add(total, each), a[0])];
    for (let j = 1; j <= half; j++) {
      let even = a[0];
      let turned: Complex | undefined;
      for (let k = 1; k <= half; k++) {
        const turn = (j * k) % r;
        const isBehind = turn > half;
        const at = (isBehind ? r - turn : turn) - 1;
        even = c.add(even, c.scale(sums[k - 1], cosines[at]));
        const part = c.scale(differences[k - 1], sines[at]);
        if (turned === undefined) turned = part;
        else turned = isBehind ? c.sub(turned, part) : c.add(turned, part);
      }
      results[j] = c.subTurned(even, turned!);
      results[r - j] = c.addTurned(even, turned!);
    }
    return results;
  };
}

/** Prepares transforms of r numbers; what they need is computed where this is called. */
export function transformOf(c: ComplexCode, r: number): Butterfly {
  return r === 2 ? two(c) : r === 4 ? four(c) : odd(c, r);
}

/** Where a pass is: the first one reads pairs as they lie in a row, and the last one, of m = 1, needs no twiddle factors. */
type Position = 'first' | 'middle' | 'last';

/** `pass_r(from, to, twiddles, m, s)`; of a first pass s is 1. */
function pass(dtype: FourierDType, r: number, position: Position, inverse: boolean): WasmFunction {
  const f = new WasmFunction(`pass_${r}_${position}`, {
    from: 'i32',
    to: 'i32',
    twiddles: 'i32',
    m: 'i32',
    s: 'i32',
  });
  const c = new ComplexCode(f, dtype);
  const [from, to, twiddles, m] = ['from', 'to', 'twiddles', 'm'].map((name) => f.param(name));
  const run = position === 'first' ? i32(STEP) : op('i32.mul', f.param('s'), i32(STEP));
  const toStep = f.let('to_step', run);
  const fromStep = f.let('from_step', op('i32.mul', toStep, m));
  const transform = transformOf(c, r);
  const bytes = dtype === 'float32' ? 4 : 8;
  /** One of the transforms, with addresses going on to the next. */
  const step = (factors: readonly Complex[]): void => {
    const places = placesFrom(f, from, fromStep, r);
    const load = (place: Local<'i32'>): Complex =>
      position === 'first' ? c.loadPairs(place, inverse) : c.load(place);
    const results = transform(places.map(load));
    placesFrom(f, to, toStep, r).forEach((place, j) =>
      c.store(place, j in factors ? c.mul(results[j], factors[j]) : results[j]),
    );
    advance(f, from, STEP);
    advance(f, to, STEP);
  };
  const together = (factors: readonly Complex[]): void => {
    if (position === 'first') {
      step(factors);
      return;
    }
    const end = f.let('end', sum(from, toStep));
    f.loop((again) => {
      step(factors);
      f.brIf(again, op('i32.lt_u', from, end));
    });
  };
  if (position === 'last') {
    together([]);
    return f;
  }
  f.loop((next) => {
    const factors: Complex[] = [];
    for (let j = 1; j < r; j++) {
      const at = 2 * (j - 1) * bytes;
      factors[j] = { re: c.splat(twiddles, at), im: c.splat(twiddles, at + bytes) };
    }
    together(factors);
    f.set(to, sum(to, op('i32.mul', toStep, i32(r - 1))));
    advance(f, twiddles, 2 * (r - 1) * bytes);
    advance(f, m, -1);
    f.brIf(next, m);
  });
  return f;
}

/** `count` addresses, `far` bytes apart. */
export function placesFrom(
  f: WasmFunction<'void' | 'i32'>,
  first: Local<'i32'>,
  far: Local<'i32'>,
  count: number,
): Local<'i32'>[] {
  const places = [first];
  while (places.length < count) places.push(f.let('place', sum(places.at(-1)!, far)));
  return places;
}

/**
 * `run_passes(passes, from, tile, other)`: gives the one of two tiles where the transforms are then. They are of what lies at `from`: a
 * tile, or a row of pairs, the parts of which are exchanged for an inverse transform.
 */
export function runPasses(
  dtype: FourierDType,
  source: 'tile' | 'row',
  inverse: boolean,
): DefinedFunction & { readonly result: 'i32' } {
  const f = new WasmFunction(
    'run_passes',
    { passes: 'i32', from: 'i32', tile: 'i32', other: 'i32' },
    'i32',
  );
  const at = f.param('passes');
  const [from, tile, other] = [f.param('from'), f.param('tile'), f.param('other')];
  const left = f.let('left', memory('i32.load', 0, at));
  advance(f, at, 4);
  const runOne = (positions: readonly Position[]): void => {
    const word = (w: number): Local<'i32'> => f.let('word', memory('i32.load', 4 * w, at));
    const [radix, m, s, twiddles] = [word(0), word(1), word(2), word(3)];
    for (const r of RADICES)
      f.if(op('i32.eq', radix, i32(r)), () => {
        const run = (position: Position): void =>
          f.do(call(pass(dtype, r, position, inverse), from, tile, twiddles, m, s));
        if (positions.length === 1) run(positions[0]);
        else
          f.if(
            op('i32.eq', m, i32(1)),
            () => run('last'),
            () => run('middle'),
          );
      });
    f.set(from, tile);
    f.set(tile, other);
    f.set(other, from);
    advance(f, at, 4 * PASS_WORDS);
    advance(f, left, -1);
  };
  if (source === 'row') runOne(['first']);
  f.while(
    () => left,
    () => runOne(['middle', 'last']),
  );
  f.return(from);
  return f;
}
