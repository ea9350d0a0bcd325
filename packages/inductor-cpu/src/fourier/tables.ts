/**
 * @file What transforms of a length need in memory: passes, and factors of unit length. The last few are kept.
 */
import { cpuHeap } from '@tessera/tensor';
import { type FourierDType, lanesOf } from './complex-code.js';
import { PASS_WORDS, RADICES } from './passes.js';

/** Tables that are kept; older ones are made again. */
const MOST_TABLES = 32;

/** exp(-2πi k / n), from angles of at most an eighth of a turn, where both parts have all their digits. */
function unitRoot(k: number, n: number): readonly [number, number] {
  const quarters = Math.round((4 * k) / n);
  const angle = ((Math.PI / 2) * (quarters * n - 4 * k)) / n;
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const sign = quarters & 2 ? -1 : 1;
  return quarters & 1 ? [sign * s, -sign * c] : [sign * c, sign * s];
}

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

  /** Passes over n numbers; the places of their twiddle factors are those among `numbers`. */
  passes(n: number): void {
    const radices = radicesOf(n)!;
    this.words.push(radices.length);
    let s = 1;
    for (const r of radices) {
      const m = n / s / r;
      this.words.push(r, m, s, this.numbers.length);
      for (let p = 0; p < m; p++)
        for (let j = 1; j < r; j++) this.numbers.push(...unitRoot(p * j, r * m));
      s *= r;
    }
  }

  /** Twiddle factors between lanes of m numbers: real parts, then imaginary ones, for each lane but the first. */
  join(m: number, lanes: number): number {
    const at = this.numbers.length;
    for (let l = 1; l < lanes; l++)
      for (const part of [0, 1] as const)
        for (let k = 0; k < m; k++) this.numbers.push(unitRoot(k * l, m * lanes)[part]);
    return at;
  }

  /** Factors g of `combine`: real parts twice, and imaginary parts as -g, g. */
  combine(h: number, kind: 'realToHalf' | 'halfToReal'): number {
    const at = this.numbers.length;
    const isReal = kind === 'realToHalf';
    for (let k = 0; k < h; k++) {
      const re = unitRoot(k, 2 * h)[1];
      this.numbers.push(re, re);
    }
    for (let k = 0; k < h; k++) {
      const c = unitRoot(k, 2 * h)[0];
      const im = isReal ? -c : c;
      this.numbers.push(-im, im);
    }
    return at;
  }

  /** Writes it all to memory that the caller frees. @throws out-of-memory */
  write(dtype: FourierDType): {
    readonly at: number;
    readonly addressOf: (number: number) => number;
  } {
    const bytes = dtype === 'float32' ? 4 : 8;
    const heap = cpuHeap();
    const wordBytes = Math.ceil(this.words.length / 4) * 16;
    const at = heap.alloc(wordBytes + this.numbers.length * bytes);
    const addressOf = (number: number): number => at + wordBytes + number * bytes;
    for (let w = 1; w < this.words.length; w += PASS_WORDS)
      this.words[w + 3] = addressOf(this.words[w + 3]);
    heap.i32.set(this.words, at / 4);
    const numbers = dtype === 'float32' ? heap.f32 : heap.f64;
    numbers.set(this.numbers, addressOf(0) / bytes);
    return { at, addressOf };
  }
}

const kept = new Map<string, Tables>();

/** The tables for `n` complex numbers, or real ones. @throws out-of-memory */
export function tablesFor(dtype: FourierDType, kind: TableKind, n: number): Tables {
  const key = `${dtype} ${kind} ${n}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const block = new Block();
  const lanes = lanesOf(dtype);
  let [join, combine] = [0, 0];
  if (kind === 'columns') block.passes(n);
  else {
    const h = kind === 'complex' ? n : n / 2;
    block.passes(h / lanes);
    join = block.join(h / lanes, lanes);
    if (kind !== 'complex') combine = block.combine(h, kind);
  }
  const { at, addressOf } = block.write(dtype);
  const made = { passes: at, join: addressOf(join), combine: addressOf(combine) };
  if (kept.size >= MOST_TABLES) {
    const [oldest, { passes }] = kept.entries().next().value!;
    cpuHeap().free(passes);
    kept.delete(oldest);
  }
  kept.set(key, made);
  return made;
}
