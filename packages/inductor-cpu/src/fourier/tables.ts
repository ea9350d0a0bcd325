/**
 * @file What transforms of a length need in memory: passes, and factors of unit length. The last few are kept.
 */
import { cpuHeap } from '@tessera/tensor';
import { unitRoots } from '@tessera/tensor/internal';
import { type FourierDType, lanesOf } from './complex-code.js';
import { PASS_WORDS, RADICES } from './passes.js';

/** Tables that are kept, and their bytes, but for the last one; older ones are made again. */
const MOST_TABLES = 32;
const MOST_BYTES = 1 << 25;

/** The factors that passes split n into; null if it has others. */
export function radicesOf(n: number): number[] | null {
  const found: number[] = [];
  let rest = n;
  for (const r of RADICES) for (; rest % r === 0; rest /= r) found.push(r);
  return rest === 1 ? found : null;
}

/** Addresses of what one length needs. */
export interface Tables {
  readonly passes: number;
  /** Factors of `join_lanes`; 0 for columns. */
  readonly join: number;
  /** Factors of `combine`; 0 for complex rows. */
  readonly combine: number;
}

/** What is transformed: numbers in columns, or in rows as `RowKind` has them. */
export type TableKind = 'columns' | 'complex' | 'realToHalf' | 'halfToReal';

class Block {
  readonly words: number[] = [];
  readonly numbers: number[] = [];
  /** Real and imaginary parts of exp(-2πi k / n). */
  readonly #roots: Float64Array;

  constructor(readonly n: number) {
    this.#roots = unitRoots(n);
  }

  /** Passes over `length` numbers, a divisor of n; the places of their twiddle factors are those among `numbers`. */
  passes(length: number): void {
    const radices = radicesOf(length)!;
    this.words.push(radices.length);
    let s = 1;
    for (const r of radices) {
      const m = length / s / r;
      const turn = this.n / (r * m);
      this.words.push(r, m, s, this.numbers.length);
      for (let p = 0; p < m; p++)
        for (let j = 1; j < r; j++) {
          const at = 2 * p * j * turn;
          this.numbers.push(this.#roots[at], this.#roots[at + 1]);
        }
      s *= r;
    }
  }

  /** Twiddle factors between lanes of m numbers: real parts, then imaginary ones, for each lane but the first. */
  join(m: number, lanes: number): number {
    const first = this.numbers.length;
    const turn = this.n / (m * lanes);
    for (let l = 1; l < lanes; l++)
      for (const part of [0, 1])
        for (let k = 0; k < m; k++) this.numbers.push(this.#roots[2 * k * l * turn + part]);
    return first;
  }

  /** Factors g of `combine`, for n real numbers: real parts twice, and imaginary parts as -g, g. */
  combine(kind: 'realToHalf' | 'halfToReal'): number {
    const first = this.numbers.length;
    const sign = kind === 'realToHalf' ? 1 : -1;
    for (let at = 0; at < this.n; at += 2)
      this.numbers.push(this.#roots[at + 1], this.#roots[at + 1]);
    for (let at = 0; at < this.n; at += 2)
      this.numbers.push(sign * this.#roots[at], -sign * this.#roots[at]);
    return first;
  }

  /** Writes it all to memory that the caller frees. @throws out-of-memory */
  write(dtype: FourierDType): Written {
    const bytesOfEach = dtype === 'float32' ? 4 : 8;
    const heap = cpuHeap();
    const wordBytes = Math.ceil(this.words.length / 4) * 16;
    const bytes = wordBytes + this.numbers.length * bytesOfEach;
    const at = heap.alloc(bytes);
    const addressOf = (number: number): number => at + wordBytes + number * bytesOfEach;
    for (let w = 1; w < this.words.length; w += PASS_WORDS)
      this.words[w + 3] = addressOf(this.words[w + 3]);
    heap.i32.set(this.words, at / 4);
    const numbers = dtype === 'float32' ? heap.f32 : heap.f64;
    numbers.set(this.numbers, addressOf(0) / bytesOfEach);
    return { at, bytes, addressOf };
  }
}

interface Written {
  readonly at: number;
  readonly bytes: number;
  readonly addressOf: (number: number) => number;
}

interface Kept extends Tables {
  readonly bytes: number;
}

const kept = new Map<string, Kept>();
let keptBytes = 0;

/** Frees the oldest tables until there is room for another one. */
function makeRoom(bytes: number): void {
  for (const [key, tables] of kept) {
    if (kept.size < MOST_TABLES && keptBytes + bytes <= MOST_BYTES) return;
    cpuHeap().free(tables.passes);
    keptBytes -= tables.bytes;
    kept.delete(key);
  }
}

/** The tables for `n` complex numbers, or real ones. They are valid until the next ones are asked for. @throws out-of-memory */
export function tablesFor(dtype: FourierDType, kind: TableKind, n: number): Tables {
  const key = `${dtype} ${kind} ${n}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const block = new Block(n);
  const lanes = lanesOf(dtype);
  let [join, combine] = [0, 0];
  if (kind === 'columns') block.passes(n);
  else {
    const m = (kind === 'complex' ? n : n / 2) / lanes;
    block.passes(m);
    join = block.join(m, lanes);
    if (kind !== 'complex') combine = block.combine(kind);
  }
  const { at, bytes, addressOf } = block.write(dtype);
  makeRoom(bytes);
  const made = { passes: at, join: addressOf(join), combine: addressOf(combine), bytes };
  keptBytes += bytes;
  kept.set(key, made);
  return made;
}
