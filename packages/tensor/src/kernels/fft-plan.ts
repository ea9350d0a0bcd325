/**
 * @file The discrete Fourier transform of rows of complex numbers, of any length, in double precision.
 *
 * Numbers are pairs, and several rows lie interleaved, element by element, so that inner loops are long. Lengths of
 * small prime factors take the Stockham form of the mixed-radix algorithm, which sorts as it goes; others become a
 * convolution of a power-of-two length. @see Bluestein, "A linear filtering approach to the computation of discrete
 * Fourier transform", 1970
 */

/** Prime factors above it make the convolution cheaper. */
const LARGEST_RADIX = 31;

/**
 * Σ xⱼ exp(-2πi jk / n) of `rows` interleaved rows, not divided by anything; `x` is overwritten, and the result may lie
 * in memory of the plan, until it is used again. Where `re` is 1 both parts are exchanged, before and after, which is
 * the transform with +2πi.
 */
export type FftPlan = (x: Float64Array, rows: number, re: 0 | 1) => Float64Array;

function primeFactors(n: number): number[] {
  const factors: number[] = [];
  let rest = n;
  // Radix 4 does the work of two passes of radix 2 in one.
  for (; rest % 4 === 0; rest /= 4) factors.push(4);
  for (let p = 2; p * p <= rest; p++) for (; rest % p === 0; rest /= p) factors.push(p);
  if (rest > 1) factors.push(rest);
  return factors;
}

/** exp(-2πi k / n), of angles below an eighth of a turn, where they have all their digits. */
export function unitRoots(n: number): Float64Array {
  const roots = new Float64Array(2 * n);
  for (let k = 0; k < n; k++) {
    const quarters = Math.round((4 * k) / n);
    const angle = ((Math.PI / 2) * (quarters * n - 4 * k)) / n;
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const sign = quarters & 2 ? -1 : 1;
    roots[2 * k] = sign * (quarters & 1 ? s : c);
    roots[2 * k + 1] = sign * (quarters & 1 ? -c : s);
  }
  return roots;
}

/** A pass splits each of `stride` interleaved transforms of length p · m into p of length m; twiddles are `turn` apart. */
type Pass = (
  x: Float64Array,
  y: Float64Array,
  roots: Float64Array,
  m: number,
  stride: number,
  turn: number,
  re: 0 | 1,
) => void;

const pass4: Pass = (x, y, roots, m, stride, turn, re) => {
  const im = 1 - re;
  const far = 2 * stride * m;
  const run = 2 * stride;
  for (let q = 0; q < m; q++) {
    const k = 2 * q * turn;
    const [c1, s1] = [roots[k]!, roots[k + 1]!];
    const [c2, s2] = [roots[2 * k]!, roots[2 * k + 1]!];
    const [c3, s3] = [roots[3 * k]!, roots[3 * k + 1]!];
    let to = 4 * run * q;
    for (let at = run * q, end = at + run; at < end; at += 2, to += 2) {
      const [r0, i0] = [x[at + re]!, x[at + im]!];
      const [r1, i1] = [x[at + far + re]!, x[at + far + im]!];
      const [r2, i2] = [x[at + 2 * far + re]!, x[at + 2 * far + im]!];
      const [r3, i3] = [x[at + 3 * far + re]!, x[at + 3 * far + im]!];
      const [ar, ai, br, bi] = [r0 + r2, i0 + i2, r0 - r2, i0 - i2];
      const [cr, ci, dr, di] = [r1 + r3, i1 + i3, r1 - r3, i1 - i3];
      y[to + re] = ar + cr;
      y[to + im] = ai + ci;
      const [er, ei] = [br + di, bi - dr];
      y[to + run + re] = er * c1 - ei * s1;
      y[to + run + im] = er * s1 + ei * c1;
      const [fr, fi] = [ar - cr, ai - ci];
      y[to + 2 * run + re] = fr * c2 - fi * s2;
      y[to + 2 * run + im] = fr * s2 + fi * c2;
      const [gr, gi] = [br - di, bi + dr];
      y[to + 3 * run + re] = gr * c3 - gi * s3;
      y[to + 3 * run + im] = gr * s3 + gi * c3;
    }
  }
};

const pass2: Pass = (x, y, roots, m, stride, turn, re) => {
  const im = 1 - re;
  const far = 2 * stride * m;
  const run = 2 * stride;
  for (let q = 0; q < m; q++) {
    const [c, s] = [roots[2 * q * turn]!, roots[2 * q * turn + 1]!];
    let to = 2 * run * q;
    for (let at = run * q, end = at + run; at < end; at += 2, to += 2) {
      const [r0, i0] = [x[at + re]!, x[at + im]!];
      const [r1, i1] = [x[at + far + re]!, x[at + far + im]!];
      y[to + re] = r0 + r1;
      y[to + im] = i0 + i1;
      const [dr, di] = [r0 - r1, i0 - i1];
      y[to + run + re] = dr * c - di * s;
      y[to + run + im] = dr * s + di * c;
    }
  }
};

/** The pass of an odd p: results k and p - k are made of the same sums and differences. */
function oddPass(p: number): Pass {
  const half = (p - 1) / 2;
  const own = unitRoots(p);
  const [sums, differences] = [new Float64Array(p - 1), new Float64Array(p - 1)];
  return (x, y, roots, m, stride, turn, re) => {
    const im = 1 - re;
    const far = 2 * stride * m;
    const run = 2 * stride;
    for (let q = 0; q < m; q++) {
      let to = p * run * q;
      for (let at = run * q, end = at + run; at < end; at += 2, to += 2) {
        const [r0, i0] = [x[at + re]!, x[at + im]!];
        let [r, i] = [r0, i0];
        for (let t = 0; t < half; t++) {
          const [a, b] = [at + (t + 1) * far, at + (p - 1 - t) * far];
          r += sums[2 * t] = x[a + re]! + x[b + re]!;
          i += sums[2 * t + 1] = x[a + im]! + x[b + im]!;
          differences[2 * t] = x[a + re]! - x[b + re]!;
          differences[2 * t + 1] = x[a + im]! - x[b + im]!;
        }
        y[to + re] = r;
        y[to + im] = i;
        for (let u = 1; u <= half; u++) {
          let [ar, ai, br, bi] = [r0, i0, 0, 0];
          for (let t = 0, k = u; t < half; t++) {
            const [c, s] = [own[2 * k]!, own[2 * k + 1]!];
            ar += sums[2 * t]! * c;
            ai += sums[2 * t + 1]! * c;
            br -= differences[2 * t + 1]! * s;
            bi += differences[2 * t]! * s;
            k += u;
            if (k >= p) k -= p;
          }
          const [one, other] = [2 * q * u * turn, 2 * q * (p - u) * turn];
          const [cr, ci, dr, di] = [ar + br, ai + bi, ar - br, ai - bi];
          y[to + u * run + re] = cr * roots[one]! - ci * roots[one + 1]!;
          y[to + u * run + im] = cr * roots[one + 1]! + ci * roots[one]!;
          y[to + (p - u) * run + re] = dr * roots[other]! - di * roots[other + 1]!;
          y[to + (p - u) * run + im] = dr * roots[other + 1]! + di * roots[other]!;
        }
      }
    }
  };
}

function mixedRadix(n: number, factors: readonly number[]): FftPlan {
  const roots = unitRoots(n);
  const passes = factors.map((p) => (p === 4 ? pass4 : p === 2 ? pass2 : oddPass(p)));
  let scratch = new Float64Array(0);
  return (x, rows, re) => {
    if (scratch.length < x.length) scratch = new Float64Array(x.length);
    let [from, to]: [Float64Array, Float64Array] = [x, scratch];
    let turn = 1;
    factors.forEach((p, i) => {
      passes[i]!(from, to, roots, n / turn / p, turn * rows, turn, re);
      [from, to] = [to, from];
      turn *= p;
    });
    return from;
  };
}

function bluestein(n: number): FftPlan {
  const length = 2 ** Math.ceil(Math.log2(2 * n - 1));
  const inner = fftPlan(length);
  /** exp(-πi k² / n) */
  const chirp = new Float64Array(2 * n);
  const conjugate = new Float64Array(2 * length);
  const roots = unitRoots(2 * n);
  for (let k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
    chirp[2 * k] = roots[2 * square]!;
    chirp[2 * k + 1] = roots[2 * square + 1]!;
    for (const at of [k, (length - k) % length]) {
      conjugate[2 * at] = chirp[2 * k]! / length;
      conjugate[2 * at + 1] = -chirp[2 * k + 1]! / length;
    }
  }
  const filter = inner(conjugate, 1, 0).slice(0, 2 * length);
  /** to = by · from, element by element of rows; both parts of what is read are exchanged if `re` is 1. */
  const scale = (
    from: Float64Array,
    by: Float64Array,
    to: Float64Array,
    rows: number,
    [re, out]: readonly [0 | 1, 0 | 1],
  ): void => {
    for (let at = 0; at < by.length * rows; at += 2) {
      const k = 2 * Math.floor(at / (2 * rows));
      const [r, i, c, s] = [from[at + re]!, from[at + 1 - re]!, by[k]!, by[k + 1]!];
      to[at + out] = r * c - i * s;
      to[at + 1 - out] = r * s + i * c;
    }
  };
  return (x, rows, re) => {
    const padded = new Float64Array(2 * length * rows);
    scale(x, chirp, padded, rows, [re, 0]);
    scale(inner(padded, rows, 0), filter, padded, rows, [0, 0]);
    scale(inner(padded, rows, 1), chirp, x, rows, [0, re]);
    return x;
  };
}

const plans = new Map<number, FftPlan>();
const MOST_PLANS = 32;

/** The plan for a length ≥ 1; the last few are kept. */
export function fftPlan(n: number): FftPlan {
  let plan = plans.get(n);
  if (plan !== undefined) return plan;
  const factors = primeFactors(n);
  plan = Math.max(0, ...factors) > LARGEST_RADIX ? bluestein(n) : mixedRadix(n, factors);
  if (plans.size >= MOST_PLANS) plans.delete(plans.keys().next().value!);
  plans.set(n, plan);
  return plan;
}
