/**
 * @file The constants of Fourier transforms as tensors: matrices, twiddle factors, the chirps of Bluestein's form.
 *
 * Angles are reduced as integers and computed in double precision, so that all digits of a dtype are right. Tables are
 * made once per length, dtype and device; graphs refer to them by identity.
 */
import type { DeviceType } from '../../device.js';
import type { DType } from '../../dtype.js';
import { writeNumbers } from '../../kernels/elements.js';
import { fftPlan, unitRoots } from '../../kernels/fft-plan.js';
import { forLater } from '../../memory/for-later.js';
import { numelOf } from '../../shape.js';
import { emptyContiguous } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDevice } from '../arrange/copy.js';

/** What tensors of one transform have in common. */
export interface TableKind {
  readonly dtype: DType;
  readonly device: DeviceType;
  /** 1 for exp(-2πi …), -1 for its conjugate. */
  readonly sign: 1 | -1;
}

const tables = new Map<string, Tensor>();
const MOST_TABLES = 256;

/** A table by what determines its numbers. */
function table(
  { dtype, device, sign }: TableKind,
  what: string,
  sizes: readonly number[],
  fill: (values: Float64Array) => void,
): Tensor {
  const key = `${what};${sizes.join()};${sign};${dtype};${device}`;
  let made = tables.get(key);
  if (made !== undefined) return made;
  const values = new Float64Array(numelOf(sizes));
  fill(values);
  made = forLater(() => {
    const host = emptyContiguous(sizes, dtype, 'cpu');
    writeNumbers(host, values);
    return device === 'cpu' ? host : toDevice(host, device);
  });
  // Graphs keep those that they use.
  if (tables.size >= MOST_TABLES) tables.delete(tables.keys().next().value!);
  tables.set(key, made);
  return made;
}

/** Factors of a pointwise complex product z · w: the parts of z · w are re(z) · `re` + im(z) · `im`, in a last dimension. */
export interface Factors {
  readonly re: Tensor;
  readonly im: Tensor;
}

/** Parts of w at one place, with `parts` of w and of i · w. */
function factors(
  kind: TableKind,
  what: string,
  sizes: readonly number[],
  each: (put: (at: number, re: number, im: number) => void) => void,
  /** Elements between the parts of a number. */
  apart = 1,
): Factors {
  const fill =
    (turned: boolean) =>
    (values: Float64Array): void =>
      each((at, re, im) => {
        values[at] = turned ? -im : re;
        values[at + apart] = turned ? re : im;
      });
  return {
    re: table(kind, what, sizes, fill(false)),
    im: table(kind, `i ${what}`, sizes, fill(true)),
  };
}

/** Pairs [n, 2] by a matrix [2 n, 2 keep], from rows of `given` pairs to `keep` ones: the others are 0 and left out. */
export function pairMatrix(
  kind: TableKind,
  n: number,
  given: number,
  keep: number,
  factor: number,
): Tensor {
  return table(kind, `pairs ${n} ${factor}`, [2 * given, 2 * keep], (values) => {
    const roots = unitRoots(n);
    for (let j = 0; j < given; j++)
      for (let k = 0; k < keep; k++) {
        const at = 2 * ((j * k) % n);
        const [re, im] = [factor * roots[at]!, kind.sign * factor * roots[at + 1]!];
        const row = 4 * j * keep + 2 * k;
        values[row] = re;
        values[row + 1] = im;
        values[row + 2 * keep] = -im;
        values[row + 2 * keep + 1] = re;
      }
  });
}

/** [n, 2 keep]: real rows to pairs. */
export function realMatrix(kind: TableKind, n: number, keep: number, factor: number): Tensor {
  return table(kind, `real ${n} ${factor}`, [n, 2 * keep], (values) => {
    const roots = unitRoots(n);
    for (let j = 0; j < n; j++)
      for (let k = 0; k < keep; k++) {
        const at = 2 * ((j * k) % n);
        values[2 * (j * keep + k)] = factor * roots[at]!;
        values[2 * (j * keep + k) + 1] = kind.sign * factor * roots[at + 1]!;
      }
  });
}

/** How often number k of a half spectrum is part of the whole: those inside are there twice, once as conjugates. */
function occurrences(n: number, k: number): number {
  return k === 0 || 2 * k === n ? 1 : 2;
}

/** [2 given, n]: half a spectrum to real rows. */
export function halfMatrix(kind: TableKind, n: number, given: number, factor: number): Tensor {
  return table(kind, `half ${n} ${factor}`, [2 * given, n], (values) => {
    const roots = unitRoots(n);
    for (let k = 0; k < given; k++) {
      const weight = factor * occurrences(n, k);
      for (let j = 0; j < n; j++) {
        const at = 2 * ((j * k) % n);
        values[2 * k * n + j] = weight * roots[at]!;
        values[(2 * k + 1) * n + j] = -kind.sign * weight * roots[at + 1]!;
      }
    }
  });
}

/** [given, 1]: `occurrences` of half a spectrum. */
export function occurrenceTable(kind: TableKind, n: number, given: number, factor: number): Tensor {
  return table(kind, `occurrences ${n} ${factor}`, [given, 1], (values) => {
    for (let k = 0; k < given; k++) values[k] = factor * occurrences(n, k);
  });
}

/** [2 n, n]: a real part and an imaginary one of every row of the transform's matrix, in turn. */
export function partsMatrix(kind: TableKind, n: number): Tensor {
  return table(kind, 'parts', [2 * n, n], (values) => {
    const roots = unitRoots(n);
    for (let k = 0; k < n; k++)
      for (let j = 0; j < n; j++) {
        const at = 2 * ((j * k) % n);
        values[2 * k * n + j] = roots[at]!;
        values[(2 * k + 1) * n + j] = kind.sign * roots[at + 1]!;
      }
  });
}

/** [n, 2 n]: the real part of what the transform makes of parts, in turn. */
export function realPartMatrix(kind: TableKind, n: number): Tensor {
  return table(kind, 'real part', [n, 2 * n], (values) => {
    const roots = unitRoots(n);
    for (let j = 0; j < n; j++)
      for (let k = 0; k < n; k++) {
        const at = 2 * ((j * k) % n);
        values[2 * (j * n + k)] = roots[at]!;
        values[2 * (j * n + k) + 1] = -kind.sign * roots[at + 1]!;
      }
  });
}

/** exp(-2πi · jk / n) for j below n1 and k = `step` · k′ with k′ below `count`; parts are last, or second as [n1, 2, count]. */
export function twiddles(
  kind: TableKind,
  n: number,
  n1: number,
  count: number,
  step: number,
  partsLast: boolean,
): Factors {
  const sizes = partsLast ? [n1, count, 2] : [n1, 2, count];
  return factors(
    kind,
    `twiddles ${n} ${step}`,
    sizes,
    (put) => {
      const roots = unitRoots(n);
      for (let j = 0; j < n1; j++)
        for (let k = 0; k < count; k++) {
          const at = 2 * ((j * k * step) % n);
          const to = partsLast ? 2 * (j * count + k) : 2 * j * count + k;
          put(to, roots[at]!, kind.sign * roots[at + 1]!);
        }
    },
    partsLast ? 1 : count,
  );
}

/** exp(-πi k² / n), as pairs. */
function chirpOf(n: number, sign: number): Float64Array {
  const roots = unitRoots(2 * n);
  const chirp = new Float64Array(2 * n);
  for (let k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
    chirp[2 * k] = roots[2 * square]!;
    chirp[2 * k + 1] = sign * roots[2 * square + 1]!;
  }
  return chirp;
}

/** [count, 2]: what Bluestein's form multiplies by before and after, times a factor. */
export function chirps(kind: TableKind, n: number, count: number, factor: number): Factors {
  return factors(kind, `chirp ${n} ${factor}`, [count, 2], (put) => {
    const chirp = chirpOf(n, kind.sign);
    for (let k = 0; k < count; k++) put(2 * k, factor * chirp[2 * k]!, factor * chirp[2 * k + 1]!);
  });
}

/** [length, 2]: the spectrum of what Bluestein's form convolves with. */
export function chirpFilter(kind: TableKind, n: number, length: number): Factors {
  return factors(kind, `filter ${n}`, [length, 2], (put) => {
    const chirp = chirpOf(n, kind.sign);
    const conjugate = new Float64Array(2 * length);
    for (let k = 0; k < n; k++)
      for (const at of [k, (length - k) % length]) {
        conjugate[2 * at] = chirp[2 * k]! / length;
        conjugate[2 * at + 1] = -chirp[2 * k + 1]! / length;
      }
    const filter = fftPlan(length)(conjugate, 1, 0);
    for (let k = 0; k < length; k++) put(2 * k, filter[2 * k]!, filter[2 * k + 1]!);
  });
}
