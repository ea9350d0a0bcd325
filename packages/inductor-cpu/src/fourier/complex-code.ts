/**
 * @file Arithmetic of vectors of complex numbers.
 *
 * Real parts and imaginary parts have a vector each. In memory of a _tile_ the two lie one after the other; elsewhere numbers are
 * pairs. A vector of each takes `STEP` bytes in both forms, whatever the dtype.
 */
import { f32x4, f64x2, memory, op, shuffle } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';

/** Dtypes of the numbers that are transformed. */
export type FourierDType = 'float32' | 'float64';

/** Bytes of a vector of real and one of imaginary parts. */
export const STEP = 32;
const VECTOR = 16;

type Vector = Local<'v128'>;

/** Real and imaginary parts. */
export interface Complex {
  readonly re: Vector;
  readonly im: Vector;
}

/** How many numbers of a dtype a vector has. */
export function lanesOf(dtype: FourierDType): 4 | 2 {
  return dtype === 'float32' ? 4 : 2;
}

/** Bytes of a complex number. */
export function pairBytes(dtype: FourierDType): number {
  return STEP / lanesOf(dtype);
}

/**
 * Writes code for vectors of a dtype into a function; each result is a local.
 *
 * Where both parts of pairs are `exchanged` before and after, a transform is the one with +2πi in the exponent.
 */
export class ComplexCode {
  readonly #type: 'f32x4' | 'f64x2';

  constructor(
    readonly f: WasmFunction<ResultType>,
    readonly dtype: FourierDType,
  ) {
    this.#type = dtype === 'float32' ? 'f32x4' : 'f64x2';
  }

  /** A constant in all lanes. */
  constant(value: number): Vector {
    return this.f.let('c', this.dtype === 'float32' ? f32x4(value) : f64x2(value));
  }

  /** The parameter `factor`, a float64, in all lanes. */
  factor(): Vector {
    const factor = this.f.param<'f64'>('factor');
    return this.f.let(
      'by',
      this.dtype === 'float32'
        ? op('f32x4.splat', op('f32.demote_f64', factor))
        : op('f64x2.splat', factor),
    );
  }

  sum(a: Vector, b: Vector): Vector {
    return this.f.let('v', op(`${this.#type}.add`, a, b));
  }

  difference(a: Vector, b: Vector): Vector {
    return this.f.let('v', op(`${this.#type}.sub`, a, b));
  }

  product(a: Vector, b: Vector): Vector {
    return this.f.let('v', op(`${this.#type}.mul`, a, b));
  }

  /** a + b */
  add(a: Complex, b: Complex): Complex {
    return { re: this.sum(a.re, b.re), im: this.sum(a.im, b.im) };
  }

  /** a - b */
  sub(a: Complex, b: Complex): Complex {
    return { re: this.difference(a.re, b.re), im: this.difference(a.im, b.im) };
  }

  /** a + i b */
  addTurned(a: Complex, b: Complex): Complex {
    return { re: this.difference(a.re, b.im), im: this.sum(a.im, b.re) };
  }

  /** a - i b */
  subTurned(a: Complex, b: Complex): Complex {
    return { re: this.sum(a.re, b.im), im: this.difference(a.im, b.re) };
  }

  /** a · b */
  mul(a: Complex, b: Complex): Complex {
    return {
      re: this.difference(this.product(a.re, b.re), this.product(a.im, b.im)),
      im: this.sum(this.product(a.re, b.im), this.product(a.im, b.re)),
    };
  }

  /** a times a real number. */
  scale(a: Complex, by: Vector): Complex {
    return { re: this.product(a.re, by), im: this.product(a.im, by) };
  }

  loadVector(address: Code<'i32'>, offset = 0): Vector {
    return this.f.let('v', memory('v128.load', offset, address));
  }

  /** A number of memory in all lanes. */
  splat(address: Code<'i32'>, offset: number): Vector {
    const load = this.dtype === 'float32' ? 'v128.load32_splat' : 'v128.load64_splat';
    return this.f.let('w', memory(load, offset, address));
  }

  /** What lies in a tile. */
  load(address: Local<'i32'>): Complex {
    return { re: this.loadVector(address), im: this.loadVector(address, VECTOR) };
  }

  /** To a tile. */
  store(address: Local<'i32'>, { re, im }: Complex): void {
    this.f.do(memory('v128.store', 0, address, re));
    this.f.do(memory('v128.store', VECTOR, address, im));
  }

  /** Parts of pairs that two vectors have. */
  apart(first: Vector, second: Vector, exchanged: boolean): Complex {
    const [re, im] = [this.#everyOther(first, second, 0), this.#everyOther(first, second, 1)];
    return exchanged ? { re: im, im: re } : { re, im };
  }

  /** Pairs, in two vectors. */
  paired(a: Complex, exchanged: boolean): readonly [Vector, Vector] {
    const lanes = lanesOf(this.dtype);
    const half = lanes / 2;
    const [re, im] = exchanged ? [a.im, a.re] : [a.re, a.im];
    const pairs = (from: number): Vector =>
      this.#shuffled(
        re,
        im,
        Array.from({ length: lanes }, (_, l) => from + (l >> 1) + (l & 1) * lanes),
      );
    return [pairs(0), pairs(half)];
  }

  /** Pairs of memory. */
  loadPairs(address: Local<'i32'>, exchanged: boolean): Complex {
    return this.apart(this.loadVector(address), this.loadVector(address, VECTOR), exchanged);
  }

  storePairs(address: Local<'i32'>, a: Complex, exchanged: boolean): void {
    this.paired(a, exchanged).forEach((pairs, v) =>
      this.f.do(memory('v128.store', v * VECTOR, address, pairs)),
    );
  }

  /** Vectors of which the first has the first lanes of all, and so on. */
  transposed(rows: readonly Vector[]): Vector[] {
    if (rows.length === 2)
      return [
        [0, 2],
        [1, 3],
      ].map((lanes) => this.#shuffled(rows[0], rows[1], lanes));
    const [a, b, c, d] = rows;
    const low = [this.#shuffled(a, b, [0, 4, 1, 5]), this.#shuffled(c, d, [0, 4, 1, 5])];
    const high = [this.#shuffled(a, b, [2, 6, 3, 7]), this.#shuffled(c, d, [2, 6, 3, 7])];
    return [low, high].flatMap(([x, y]) => [
      this.#shuffled(x, y, [0, 1, 4, 5]),
      this.#shuffled(x, y, [2, 3, 6, 7]),
    ]);
  }

  /** Both parts of each pair in a vector exchanged. */
  turned(pairs: Vector): Vector {
    return this.#shuffled(pairs, pairs, this.dtype === 'float32' ? [1, 0, 3, 2] : [1, 0]);
  }

  /** Pairs of a vector in the opposite order. */
  reversed(pairs: Vector): Vector {
    return this.dtype === 'float32' ? this.#shuffled(pairs, pairs, [2, 3, 0, 1]) : pairs;
  }

  /** Every other lane of two vectors. */
  #everyOther(a: Vector, b: Vector, first: 0 | 1): Vector {
    const lanes = lanesOf(this.dtype);
    return this.#shuffled(
      a,
      b,
      Array.from({ length: lanes }, (_, l) => first + 2 * l),
    );
  }

  /** Lanes of two vectors. */
  #shuffled(a: Vector, b: Vector, lanes: readonly number[]): Vector {
    const bytes = VECTOR / lanes.length;
    const all = lanes.flatMap((l) => Array.from({ length: bytes }, (_, k) => l * bytes + k));
    return this.f.let('v', shuffle(all, a, b));
  }
}
