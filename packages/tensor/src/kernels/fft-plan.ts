/**
 * @file The discrete Fourier transform of one row of complex numbers, of any length, in double precision.
 *
 * Lengths of small prime factors take the Stockham form of the mixed-radix algorithm, which sorts as it goes; others
 * become a convolution of a power-of-two length. @see Bluestein, "A linear filtering approach to the computation of
 * discrete Fourier transform", 1970
 */

/** Prime factors above it make the convolution cheaper. */
const LARGEST_RADIX = 31;

/** Real and imaginary parts. */
export interface ComplexRow {
  readonly re: Float64Array;
  readonly im: Float64Array;
}

/** Transforms rows of one length in place: Σ xⱼ exp(∓2πi jk / n), with - if `forward`; not divided by anything. */
export interface FftPlan {
  transform(row: ComplexRow, forward: boolean): void;
}

function blankRow(n: number): ComplexRow {
  return { re: new Float64Array(n), im: new Float64Array(n) };
}

function primeFactors(n: number): number[] {
  const factors: number[] = [];
  let rest = n;
  // Radix 4 does the work of two passes of radix 2 in one.
  for (; rest % 4 === 0; rest /= 4) factors.push(4);
  for (let p = 2; p * p <= rest; p++) for (; rest % p === 0; rest /= p) factors.push(p);
  if (rest > 1) factors.push(rest);
  return factors;
}

/** cos and sin of 2πk / n. */
function unitRoots(n: number): ComplexRow {
  const roots = blankRow(n);
  for (let k = 0; k < n; k++) {
    roots.re[k] = Math.cos((2 * Math.PI * k) / n);
    roots.im[k] = Math.sin((2 * Math.PI * k) / n);
  }
  return roots;
}

class MixedRadix implements FftPlan {
  private readonly roots: ComplexRow;
  private readonly scratch: ComplexRow;
  private readonly part: ComplexRow;

  constructor(
    private readonly n: number,
    private readonly factors: readonly number[],
  ) {
    this.roots = unitRoots(n);
    this.scratch = blankRow(n);
    this.part = blankRow(Math.max(1, ...factors));
  }

  transform(row: ComplexRow, forward: boolean): void {
    let [from, to] = [row, this.scratch];
    let stride = 1;
    for (const p of this.factors) {
      this.pass(from, to, p, stride, forward ? -1 : 1);
      [from, to] = [to, from];
      stride *= p;
    }
    if (from === row) return;
    row.re.set(from.re);
    row.im.set(from.im);
  }

  /** Splits each of `stride` interleaved transforms into p of a p-th of the length. */
  private pass(from: ComplexRow, to: ComplexRow, p: number, stride: number, sign: number): void {
    const { n, roots, part } = this;
    const m = n / stride / p;
    const turn = n / p;
    for (let q = 0; q < m; q++)
      for (let r = 0; r < stride; r++) {
        for (let t = 0; t < p; t++) {
          const at = r + stride * (q + m * t);
          part.re[t] = from.re[at]!;
          part.im[t] = from.im[at]!;
        }
        for (let u = 0; u < p; u++) {
          let re = part.re[0]!;
          let im = part.im[0]!;
          for (let t = 1; t < p; t++) {
            const k = ((t * u) % p) * turn;
            const [c, s] = [roots.re[k]!, sign * roots.im[k]!];
            re += part.re[t]! * c - part.im[t]! * s;
            im += part.re[t]! * s + part.im[t]! * c;
          }
          const k = q * u * stride;
          const [c, s] = [roots.re[k]!, sign * roots.im[k]!];
          const at = r + stride * (p * q + u);
          to.re[at] = re * c - im * s;
          to.im[at] = re * s + im * c;
        }
      }
  }
}

class Bluestein implements FftPlan {
  private readonly inner: FftPlan;
  private readonly length: number;
  /** exp(πi k² / n) */
  private readonly chirp: ComplexRow;
  /** The transform of the chirp as a filter, for the forward direction. */
  private readonly filter: ComplexRow;
  private readonly work: ComplexRow;

  constructor(private readonly n: number) {
    this.length = 2 ** Math.ceil(Math.log2(2 * n - 1));
    this.inner = fftPlan(this.length);
    this.chirp = blankRow(n);
    this.filter = blankRow(this.length);
    this.work = blankRow(this.length);
    const { re, im } = unitRoots(2 * n);
    for (let k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
      this.chirp.re[k] = re[square]!;
      this.chirp.im[k] = im[square]!;
      for (const at of k === 0 ? [0] : [k, this.length - k]) {
        this.filter.re[at] = re[square]!;
        this.filter.im[at] = im[square]!;
      }
    }
    this.inner.transform(this.filter, true);
  }

  transform(row: ComplexRow, forward: boolean): void {
    const { n, length, chirp, filter, work } = this;
    // The other direction is this one of the conjugate.
    const sign = forward ? 1 : -1;
    work.re.fill(0);
    work.im.fill(0);
    for (let k = 0; k < n; k++) {
      const [x, y] = [row.re[k]!, sign * row.im[k]!];
      work.re[k] = x * chirp.re[k]! + y * chirp.im[k]!;
      work.im[k] = y * chirp.re[k]! - x * chirp.im[k]!;
    }
    this.inner.transform(work, true);
    for (let k = 0; k < length; k++) {
      const [x, y] = [work.re[k]!, work.im[k]!];
      work.re[k] = x * filter.re[k]! - y * filter.im[k]!;
      work.im[k] = x * filter.im[k]! + y * filter.re[k]!;
    }
    this.inner.transform(work, false);
    for (let k = 0; k < n; k++) {
      const [x, y] = [work.re[k]! / length, work.im[k]! / length];
      row.re[k] = x * chirp.re[k]! + y * chirp.im[k]!;
      row.im[k] = sign * (y * chirp.re[k]! - x * chirp.im[k]!);
    }
  }
}

const plans = new Map<number, FftPlan>();
const MOST_PLANS = 32;

/** The plan for a length ≥ 1; the last few are kept. */
export function fftPlan(n: number): FftPlan {
  let plan = plans.get(n);
  if (plan !== undefined) return plan;
  const factors = primeFactors(n);
  plan =
    factors.length > 0 && Math.max(...factors) > LARGEST_RADIX
      ? new Bluestein(n)
      : new MixedRadix(n, factors);
  if (plans.size >= MOST_PLANS) plans.delete(plans.keys().next().value!);
  plans.set(n, plan);
  return plan;
}
