/**
 * @file A line search for the strong Wolfe conditions: bracket a good step, then zoom in on it.
 *
 * Modelled on `torch.optim.lbfgs`, which follows minFunc.
 *
 * @see Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6
 */
import type { Tensor } from '@tessera/tensor';
import { type Reading, read } from './awaited-reads.js';

/** Loss and flat gradient at a point of the line. */
export interface Evaluation {
  readonly loss: number;
  readonly grad: Tensor;
}

/** A point of the line: how far along the direction, and the function and its slope there. */
interface Point extends Evaluation {
  readonly t: number;
  readonly slope: number;
}

/** Where the search ended. */
export interface LineSearchResult extends Evaluation {
  readonly t: number;
}

const SUFFICIENT_DECREASE = 1e-4;
const CURVATURE = 0.9;

/** Minimum of the cubic through two points with given slopes, within bounds. */
function cubicMinimum(
  a: Point,
  b: Point,
  low: number = Math.min(a.t, b.t),
  high: number = Math.max(a.t, b.t),
): number {
  const d1 = a.slope + b.slope - (3 * (a.loss - b.loss)) / (a.t - b.t);
  const square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const d2 = Math.sqrt(square);
  const [near, far] = a.t <= b.t ? [a, b] : [b, a];
  const at = far.t - (far.t - near.t) * ((far.slope + d2 - d1) / (far.slope - near.slope + 2 * d2));
  return Math.min(Math.max(at, low), high);
}

/**
 * Searches along a descent direction.
 *
 * @param evaluate loss and gradient at a step length
 * @param directionMax largest magnitude of the direction
 * @param toleranceChange a bracket shorter than this (in parameters) is not divided further
 * @param maxEvaluations evaluations after the first one
 */
export function* strongWolfe(
  evaluate: (t: number) => Reading<Evaluation>,
  direction: Tensor,
  start: Evaluation & { readonly slope: number },
  firstStep: number,
  directionMax: number,
  toleranceChange: number,
  maxEvaluations: number,
): Reading<LineSearchResult> {
  let iteration = 0;
  function* at(t: number): Reading<Point> {
    const { loss, grad } = yield* evaluate(t);
    return { t, loss, grad, slope: yield* read(grad.dot(direction)) };
  }
  const origin: Point = { t: 0, ...start };
  const tooHigh = (point: Point): boolean =>
    point.loss > origin.loss + SUFFICIENT_DECREASE * point.t * origin.slope;
  const flat = (point: Point): boolean => Math.abs(point.slope) <= -CURVATURE * origin.slope;
  const done = ({ t, loss, grad }: Point): LineSearchResult => ({ t, loss, grad });

  let previous = origin;
  let point = yield* at(firstStep);
  let bracket: [Point, Point] | null = null;
  while (iteration < maxEvaluations) {
    if (tooHigh(point) || (iteration > 1 && point.loss >= previous.loss)) {
      bracket = [previous, point];
      break;
    }
    if (flat(point)) return done(point);
    if (point.slope >= 0) {
      bracket = [previous, point];
      break;
    }
    const least = point.t + 0.01 * (point.t - previous.t);
    const next = cubicMinimum(previous, point, least, point.t * 10);
    previous = point;
    point = yield* at(next);
    iteration++;
  }
  bracket ??= [origin, point];

  let insufficient = false;
  const lowest = (): 0 | 1 => (bracket[0].loss <= bracket[1].loss ? 0 : 1);
  let low = lowest();
  while (iteration < maxEvaluations) {
    const [a, b] = bracket;
    if (Math.abs(b.t - a.t) * directionMax < toleranceChange) break;
    let t = cubicMinimum(a, b);
    const left = Math.min(a.t, b.t);
    const right = Math.max(a.t, b.t);
    const margin = 0.1 * (right - left);
    // Too close to an end twice in a row: move away from it, so that the bracket shrinks.
    if (Math.min(right - t, t - left) < margin) {
      if (insufficient || t >= right || t <= left) {
        t = Math.abs(t - right) < Math.abs(t - left) ? right - margin : left + margin;
        insufficient = false;
      } else insufficient = true;
    } else insufficient = false;
    point = yield* at(t);
    iteration++;
    const high = low === 0 ? 1 : 0;
    if (tooHigh(point) || point.loss >= bracket[low].loss) {
      bracket[high] = point;
      low = lowest();
      continue;
    }
    const found = flat(point);
    if (!found && point.slope * (bracket[high].t - bracket[low].t) >= 0)
      bracket[high] = bracket[low];
    bracket[low] = point;
    if (found) break;
  }
  return done(bracket[low]);
}
