/**
 * @file Singular value decomposition by one-sided Jacobi rotations, in double precision.
 *
 * Columns are rotated in pairs until all are orthogonal: their lengths are then the singular values. Slow
 * but accurate also for small values. @see Demmel & Veselić, Jacobi's method is more accurate than QR
 */

/** Columns, each of equal length. */
type Columns = Float64Array[];

/** u[k] · s[k] · v[k]ᵀ summed is the matrix; s descends. */
export interface Decomposition {
  readonly u: Columns;
  readonly s: number[];
  readonly v: Columns;
}

const SWEEPS = 60;

function dot(a: Float64Array, b: Float64Array): number {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i]! * b[i]!;
  return total;
}

function rotate(a: Float64Array, b: Float64Array, cosine: number, sine: number): void {
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i]!, b[i]!];
    a[i] = cosine * x - sine * y;
    b[i] = sine * x + cosine * y;
  }
}

/** Rotates columns `work` until they are orthogonal, and `v` with them. */
function orthogonalize(work: Columns, v: Columns): void {
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    let rotated = false;
    for (let i = 0; i < work.length; i++)
      for (let j = i + 1; j < work.length; j++) {
        const [a, b] = [work[i]!, work[j]!];
        const [aa, bb, ab] = [dot(a, a), dot(b, b), dot(a, b)];
        if (ab === 0 || Math.abs(ab) <= Number.EPSILON * Math.sqrt(aa * bb)) continue;
        rotated = true;
        const zeta = (bb - aa) / (2 * ab);
        const tangent = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.hypot(1, zeta));
        const cosine = 1 / Math.hypot(1, tangent);
        rotate(a, b, cosine, cosine * tangent);
        rotate(v[i]!, v[j]!, cosine, cosine * tangent);
      }
    if (!rotated) return;
  }
}

/** Adds orthonormal columns until there are `count`; missing (zero) ones are replaced first. */
function complete(columns: (Float64Array | null)[], length: number, count: number): Columns {
  const whole: Columns = columns.filter((column) => column !== null);
  const fresh = (): Float64Array => {
    // Of the axes, the one that is least spanned so far.
    let best = new Float64Array(length);
    let size = -1;
    for (let axis = 0; axis < length; axis++) {
      const candidate = new Float64Array(length);
      candidate[axis] = 1;
      for (let pass = 0; pass < 2; pass++)
        for (const column of whole) {
          const along = dot(candidate, column);
          for (let i = 0; i < length; i++) candidate[i]! -= along * column[i]!;
        }
      const norm = Math.sqrt(dot(candidate, candidate));
      if (norm <= size) continue;
      size = norm;
      best = candidate.map((value) => value / norm);
    }
    whole.push(best);
    return best;
  };
  const out = columns.map((column) => column ?? fresh());
  while (out.length < count) out.push(fresh());
  return out;
}

/** Decomposes a row-major matrix; `full` completes u and v to square matrices. */
export function jacobiSvd(
  values: Float64Array,
  rows: number,
  columns: number,
  full: boolean,
): Decomposition {
  const wide = columns > rows;
  // The longer side as the length of the columns, so that none is zero by shape.
  const [length, count] = wide ? [columns, rows] : [rows, columns];
  const work = Array.from({ length: count }, (_, k) =>
    Float64Array.from({ length }, (_, i) =>
      wide ? values[k * columns + i]! : values[i * columns + k]!,
    ),
  );
  const turned = Array.from({ length: count }, (_, k) =>
    Float64Array.from({ length: count }, (_, i) => (i === k ? 1 : 0)),
  );
  orthogonalize(work, turned);
  const lengths = work.map((column) => Math.sqrt(dot(column, column)));
  const order = lengths.map((_, k) => k).sort((a, b) => lengths[b]! - lengths[a]!);
  const s = order.map((k) => lengths[k]!);
  const negligible = (s[0] ?? 0) * Number.EPSILON * length;
  const long = complete(
    order.map((k) =>
      lengths[k]! > negligible ? work[k]!.map((value) => value / lengths[k]!) : null,
    ),
    length,
    full ? length : count,
  );
  const short = order.map((k) => turned[k]!);
  return wide ? { u: short, s, v: long } : { u: long, s, v: short };
}
