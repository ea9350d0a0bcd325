/**
 * @file max(x) and Σ exp(x - max) over the same points as one `online_softmax` reduction.
 */
import type { Expr } from '../ir/expr.js';
import { isFloat } from '../ir/scalar-eval.js';
import type { BodyReduce } from './group-body.js';

/** The `x` and result id in `exp(x - acc)`, or null. */
function shiftedExponential(value: Expr): { readonly x: Expr; readonly id: number } | null {
  if (value.kind !== 'op' || value.op !== 'exp') return null;
  const [difference] = value.args;
  if (difference.kind !== 'op' || difference.op !== 'sub') return null;
  const [x, peak] = difference.args;
  return peak.kind === 'acc' ? { x, id: peak.id } : null;
}

/** Joins matching pairs unless the maximum is shown to anybody else; the order of the others stays. */
export function onlineSoftmax(
  reduces: readonly BodyReduce[],
  isShown: (maximum: number, sum: number) => boolean,
): BodyReduce[] {
  const peaks = new Map<number, BodyReduce>();
  for (const reduce of reduces)
    if (reduce.op === 'max' && isFloat(reduce.dtype)) peaks.set(reduce.ids[0]!, reduce);
  const joined = new Map<BodyReduce, BodyReduce>();
  const gone = new Set<BodyReduce>();
  for (const reduce of reduces) {
    if (reduce.op !== 'sum') continue;
    const shifted = shiftedExponential(reduce.value);
    const peak = shifted === null ? undefined : peaks.get(shifted.id);
    if (shifted === null || peak === undefined || peak.value !== shifted.x || joined.has(peak))
      continue;
    if (isShown(peak.ids[0]!, reduce.ids[0]!)) continue;
    joined.set(peak, {
      op: 'online_softmax',
      ids: [peak.ids[0]!, reduce.ids[0]!],
      dtype: peak.dtype,
      value: peak.value,
      running: false,
    });
    gone.add(reduce);
  }
  return reduces
    .filter((reduce) => !gone.has(reduce))
    .map((reduce) => joined.get(reduce) ?? reduce);
}
