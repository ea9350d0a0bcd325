/**
 * @file Least squares: the best solutions of systems of linear equations, the shortest where there are several.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { singularValues } from '../../kernels/singular-values.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { mT, unsqueeze } from '../view/dims.js';
import { expand } from '../view/view.js';
import { EPSILON, pinv, pinvGradient } from './function.js';
import { checkMatrix, checkSameDtype, columnMajorMeta, rowMajorMeta } from './shape.js';

/** LAPACK's methods, which decide what comes with the solution: 'gels' assumes full rank, 'gelsd' and 'gelss' give singular values. */
export type LstsqDriver = 'gels' | 'gelsy' | 'gelsd' | 'gelss';

const DRIVERS: readonly unknown[] = ['gels', 'gelsy', 'gelsd', 'gelss'];

interface System {
  readonly batch: readonly number[];
  readonly m: number;
  readonly n: number;
  readonly columns: number;
  /** Whether b is one vector for each matrix. */
  readonly vector: boolean;
}

/** @throws shape-mismatch, invalid-dim, invalid-argument, dtype-mismatch, dtype-unsupported */
function systemOf(a: Tensor, b: Tensor, driver: unknown): System {
  checkMatrix('torch.linalg.lstsq', a);
  checkSameDtype('torch.linalg.lstsq', a, b);
  if (driver !== null && !DRIVERS.includes(driver))
    throw new TesseraError(
      'invalid-argument',
      'torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)',
      { hints: ["'gelsy', the default, fits most."] },
    );
  const [m, n] = a.sizes.slice(-2);
  const vector = a.ndim - 1 === b.ndim;
  if (!vector && a.ndim !== b.ndim)
    throw new TesseraError(
      'shape-mismatch',
      'torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1',
      { hints: ['A is [.., M, N] and b [.., M, K], or [.., M].'] },
    );
  const sizes = vector ? [...b.sizes, 1] : b.sizes;
  if (sizes.length < 2 || sizes.at(-2) !== m)
    throw new TesseraError(
      'shape-mismatch',
      `torch.linalg.lstsq: input.size(-2) should match other.size(${vector ? '-1' : '-2'})`,
      { hints: ['A is [.., M, N] and b [.., M, K], or [.., M].'] },
    );
  const batch = broadcastShapes([a.sizes.slice(0, -2), sizes.slice(0, -2)], 'torch.linalg.lstsq');
  return { batch, m, n, columns: sizes.at(-1)!, vector };
}

const hasResiduals = (m: number, n: number, driver: unknown): boolean =>
  m > n && driver !== null && driver !== 'gelsy';
const hasSingularValues = (driver: unknown): boolean => driver === 'gelsd' || driver === 'gelss';

/** What is there of two gradients, together. */
const sumOf = (a: Tensor | null, b: Tensor | null): Tensor | null =>
  a && b ? add(a, b) : (a ?? b);

/** The gradient of a from that of the solution, inverse(a) @ right. */
function solutionGradient(grad: Tensor, a: Tensor, right: Tensor, inverse: Tensor): Tensor {
  const toInverse = matmul(grad, mT(right));
  const whole = toInverse.sizes.slice(0, -2);
  return pinvGradient(
    toInverse,
    expand(a, [...whole, ...a.sizes.slice(-2)]),
    expand(inverse, [...whole, ...inverse.sizes.slice(-2)]),
  );
}

const lstsqOp = defineOp(
  'aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)',
  {
    tags: ['compute-intensive'],
    meta: ({ self: a, b, driver }) => {
      const { batch, m, n, columns, vector } = systemOf(a, b, driver);
      const solution = [...batch, n, columns];
      return [
        vector ? rowMajorMeta(solution.slice(0, -1), a) : columnMajorMeta(solution, a),
        rowMajorMeta(hasResiduals(m, n, driver) ? (vector ? batch : [...batch, columns]) : [0], a),
        rowMajorMeta(driver === 'gels' ? [0] : a.sizes.slice(0, -2), a, 'int64'),
        rowMajorMeta(
          hasSingularValues(driver) ? [...a.sizes.slice(0, -2), Math.min(m, n)] : [0],
          a,
        ),
      ];
    },
    kernel: ({ self: a, b: right, rcond, driver }, outs) => {
      const { batch, m, n, columns, vector } = systemOf(a, right, driver);
      const matrices = readNumbers(a, [...batch, m, n]);
      const sides = readNumbers(right, vector ? [...batch, m] : [...batch, m, columns]);
      const limit = rcond ?? Math.max(m, n) * EPSILON[a.dtype]!;
      const count = numelOf(batch);
      const solutions = new Float64Array(count * n * columns);
      const [residuals, ranks, singular]: [number[], number[], number[]] = [[], [], []];
      for (let i = 0; i < count; i++) {
        const matrix = matrices.subarray(i * m * n, (i + 1) * m * n);
        const { u, s, v } = singularValues(matrix, m, n, 'reduced');
        const used = s.filter((value) => value > limit * s[0]!).length;
        ranks.push(used);
        singular.push(...s);
        for (let c = 0; c < columns; c++) {
          const side = (row: number): number => sides[(i * m + row) * columns + c]!;
          const found = new Float64Array(n);
          for (let k = 0; k < used; k++) {
            let along = 0;
            for (let row = 0; row < m; row++) along += u[k]![row]! * side(row);
            for (let j = 0; j < n; j++) found[j]! += (along / s[k]!) * v[k]![j]!;
          }
          found.forEach((value, j) => (solutions[(i * n + j) * columns + c] = value));
          let rest = 0;
          for (let row = 0; row < m; row++) {
            let value = -side(row);
            for (let j = 0; j < n; j++) value += matrix[row * n + j]! * found[j]!;
            rest += value * value;
          }
          residuals.push(rest);
        }
      }
      writeNumbers(outs[0]!, solutions);
      if (hasResiduals(m, n, driver)) writeNumbers(outs[1]!, residuals);
      const own = numelOf(a.sizes.slice(0, -2));
      // With a broadcast batch each matrix comes up again; those of its first round are enough.
      if (driver !== 'gels') writeNumbers(outs[2]!, firstRound(ranks, own, 1, a, batch));
      if (hasSingularValues(driver))
        writeNumbers(outs[3]!, firstRound(singular, own, Math.min(m, n), a, batch));
    },
    saved: ['self', 'b'],
    constantOutputs: [3],
    vjp: ({ self: a, b, driver }, { grads }) => {
      const { m, n, vector } = systemOf(a, b, driver);
      const column = (x: Tensor): Tensor => (vector ? unsqueeze(x, -1) : x);
      const right = column(b);
      const inverse = pinv(a);
      const g = grads[0] ? column(grads[0]) : null;
      // Residuals change with the solution only in the second order: it is where they are least.
      const gr = hasResiduals(m, n, driver) && grads[1] ? column(grads[1]) : null;
      const solution = gr && matmul(inverse, right);
      const missed = gr && mul(mul(sub(matmul(a, solution!), right), unsqueeze(gr, -2)), 2);
      return {
        b: () => {
          const side = sumOf(g && matmul(mT(inverse), g), missed && neg(missed));
          return side && vector ? side.squeeze(-1) : side;
        },
        self: () =>
          sumOf(
            g && solutionGradient(g, a, right, inverse),
            missed && matmul(missed, mT(solution!)),
          ),
      };
    },
  },
);

/** Of values for each matrix of a broadcast batch, those for each matrix of a. */
function firstRound(
  values: readonly number[],
  own: number,
  width: number,
  a: Tensor,
  batch: readonly number[],
): readonly number[] {
  if (values.length === own * width) return values;
  const sizes = a.sizes.slice(0, -2);
  const skipped = batch.length - sizes.length;
  return Array.from({ length: own }, (_, i) => {
    let [at, rest, stride] = [0, i, 1];
    for (let d = batch.length - 1; d >= 0; d--) {
      const size = sizes[d - skipped] ?? 1;
      at += (rest % size) * stride;
      rest = Math.floor(rest / size);
      stride *= batch[d]!;
    }
    return values.slice(at * width, (at + 1) * width);
  }).flat();
}

/** Options of `lstsq`. */
export interface LstsqOptions {
  /** Singular values up to `rcond` times the largest count as 0; by default the precision times the larger size. */
  readonly rcond?: number | null;
  /** LAPACK's method by whose rules residuals, ranks and singular values are given (default 'gelsy'). */
  readonly driver?: LstsqDriver | null;
}
const LSTSQ: OptionNames<LstsqOptions> = { rcond: true, driver: true };

/**
 * The X that makes ‖self @ X - b‖ least, the shortest if there are several: [.., M, N], [.., M, K] → [.., N, K]. With
 * it the squared lengths of what is left (for M > N and drivers other than 'gelsy'), ranks, and singular values (for
 * 'gelsd' and 'gelss'); each is empty where it is not given.
 *
 * @throws shape-mismatch, invalid-dim, invalid-argument, dtype-mismatch, dtype-unsupported
 */
export function lstsq(
  self: Tensor,
  b: Tensor,
  options: LstsqOptions = {},
): [solution: Tensor, residuals: Tensor, rank: Tensor, singularValues: Tensor] {
  checkOptionNames('lstsq', options, LSTSQ);
  const { rcond = null, driver = null } = options;
  return callOp(lstsqOp, [self, b, rcond, driver]);
}
