/**
 * @file Scatters as stores that combine with what lies there, on devices where points of loops follow no order.
 *
 * Each source goes to its place by itself, with an atomic operation, where the form of scatters that needs none has every
 * result look at all sources that could be for it. Integers come out the same every time: of several sources for one place,
 * the largest number among them is the last one. Sums of floats are rounded in the order in which sources arrive, as
 * PyTorch's on CUDA are. That is slow where many sources have one place, because they wait for each other; there, results
 * keep looking.
 */
import { type Size, sizeHint } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import { ExprMath } from './expr-math.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import { castTensor } from './ops/elementwise.js';
import { addOverwrite } from './part-nodes.js';
import { type Put, type Steps, sumInSteps } from './put-in-steps.js';
import { accumulateDtype } from './reduce.js';
import { isEmpty, numelOf, type Shape } from './shape-math.js';

/** Comparisons that take as long as the launches that they save. */
const FEW_COMPARISONS = 2 ** 23;
/**
 * How many comparisons take as long as one source that waits for another at the same place, measured on an H200: floats are
 * exchanged until nobody came between, integers added at once.
 */
const PER_TURN: Readonly<Record<CombinedDtype, number>> = { float32: 2 ** 20, int32: 2 ** 14 };

/** What sources are combined in. */
export type CombinedDtype = 'float32' | 'int32';

/** What sums of elements of a type are combined in; of bools, it is counted how many hold. */
export function combinedDtype(dtype: DType): CombinedDtype {
  return isFloatingPoint(dtype) ? 'float32' : 'int32';
}

/** Whether stores that combine are faster than `results` that look at `each` of all `sources`. */
export function combinesFaster(
  l: Lowering,
  results: Size,
  each: Size,
  sources: Size,
  dtype: CombinedDtype,
): boolean {
  if (l.capabilities.combines !== true) return false;
  const turns = sizeHint(sources) / sizeHint(results);
  return sizeHint(results) * sizeHint(each) > Math.max(FEW_COMPARISONS, turns * PER_TURN[dtype]);
}

/** What is put where. */
interface Term extends Pick<Put, 'coords'> {
  readonly value: Expr;
}

/** self with the terms, which are of its sums' type, added at their places; `sizes` are those of the points. */
export function addCombined(
  l: Lowering,
  self: LoweredTensor,
  sizes: Shape,
  terms: readonly Term[],
): LoweredTensor {
  const dtype = combinedDtype(self.dtype);
  let buffer = l.storeValue(l.ir.cast(self.expr, dtype), dtype, self.shape, self.layout);
  for (const { coords, value } of terms)
    buffer = addOverwrite(l, buffer, sizes, value, coords, { combine: 'sum' });
  return castTensor(l, l.fromBuffer(buffer), self.dtype);
}

/** The largest of the numbers, which are not negative, at each place; -1 where there is none. */
export function lastCombined(
  l: Lowering,
  shape: Shape,
  sizes: Shape,
  { coords, value }: Term,
): LoweredTensor {
  const none = l.storeValue(l.ir.const('int32', -1), 'int32', shape, null);
  return l.fromBuffer(addOverwrite(l, none, sizes, value, coords, { combine: 'max' }));
}

/** Sums of the terms by their places, in steps or combined; null where results had better look for them. */
export function sumAtPlaces(
  l: Lowering,
  shape: Shape,
  dtype: DType,
  steps: Steps,
  terms: readonly Term[],
): LoweredTensor | null {
  const sum = sumInSteps(l, shape, dtype, steps, terms);
  if (sum !== null || isEmpty(shape)) return sum;
  const each = numelOf(steps.along.map((d) => steps.sizes[d]!));
  const acc = combinedDtype(dtype);
  if (!combinesFaster(l, numelOf(shape), each, numelOf(steps.sizes), acc)) return null;
  const m = new ExprMath(l.ir);
  const zeros = l.pointwise(shape, l.ir.const(accumulateDtype(dtype), 0));
  const given = terms.map(({ coords, value }) => ({ coords, value: m.cast(value, acc) }));
  return castTensor(l, addCombined(l, zeros, steps.sizes, given), dtype);
}
