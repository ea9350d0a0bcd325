/**
 * @file Embedding bags: rows of a table combined per bag, and the gradients.
 */
import { readyOperand } from '../ready-operand.js';
import { type Size, SymInt, sizeAdd, sizeFloorDiv, sizeMin, sizeMul } from '@tessera/shared';
import { indexCheck } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { checkedIndices, position } from '../checked-value.js';
import { reduceOver } from './distance.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { sumAtPlaces } from '../put-combined.js';
import { putInSteps } from '../put-in-steps.js';
import { accumulateDtype } from '../reduce.js';
import type { LoweredArg, RuntimeScalar } from '../registry.js';
import { fixed, isEmpty, isSame } from '../shape-math.js';
import { countInSteps, sumsByKey } from '../sums-by-key.js';
import { usesOfRows } from './embedding-backward.js';
import { scanAlong } from './scan.js';
import {
  type LoweringOf,
  type LoweringTable,
  type SizedLoweringOf,
  lowerings,
} from '../typed-lowering.js';

/** ATen's numbers of the modes. */
const SUM = 0;
const MEAN = 1;
const MAX = 2;

/** The length of all bags where each begins so far behind the one before it, as rows of indices do; else null. */
function commonLength(l: Lowering, offsets: LoweredTensor, bags: Size, count: Size): Size | null {
  if (isSame(bags, 0)) return null;
  const length = sizeFloorDiv(count, bags);
  if (!isSame(sizeMul(bags, length), count)) return null;
  const [bag] = l.vars([bags]);
  const begins = l.ir.index('int64', l.ir.scale(bag!, length));
  return offsets.load([bag!]) === l.ir.cast(begins, offsets.dtype) ? length : null;
}

/** The bag of each index: how many bags begin at or before it, less one. `length` is that of all bags, null if they have none in common. */
function bagOfEach(
  l: Lowering,
  offsets: LoweredTensor,
  bags: Size,
  count: Size,
  length: Size | null,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  if (isSame(bags, 0)) return l.pointwise([count], l.ir.const('int32', 0));
  const [i] = l.vars([count]);
  if (length !== null) return l.pointwise([count], l.ir.index('int32', l.ir.div(i!, length)));
  const ends = sizeAdd(count, 1);
  const starts = checkedIndices(l, 'embedding_bag: offsets', offsets, ends);
  const begin = countInSteps(l, ends, bags, (bag) => starts.load([bag]));
  const begun =
    begin === null
      ? reduceOver(l, 'sum', [count], bags, (bag) =>
          m.cast(m.le(m.cast(starts.load([bag]), 'int32'), l.ir.index('int32', i!)), 'int32'),
        )
      : scanAlong(l, 'sum', begin, 0).load([i!]);
  const bag = m.max(m.sub(begun, 1), 0);
  const first = indexCheck<Size>('embedding_bag: the first of offsets', 1);
  const subject = offsets.load([l.ir.int(0)]);
  const checked = l.checks ? l.check(first, subject, m.ge(begun, 1), bag) : bag;
  return l.pointwise([count], checked);
}

/** An optional tensor argument. */
function optional(l: Lowering, arg: LoweredArg): LoweredTensor | null {
  return arg instanceof LoweredTensor ? readyOperand(l, arg) : null;
}

/** weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx. */
const forward: LoweringOf<'aten::_embedding_bag'> = (l, args, call) => {
  const weight = readyOperand(l, args[0]);
  const given = readyOperand(l, args[1]);
  const offsets = readyOperand(l, args[2]);
  const mode = Number(args[4] ?? SUM);
  const scales = optional(l, args[6]);
  const padding = Number(args[8] ?? -1);
  const [rows, width] = weight.shape;
  const count = given.shape[0]!;
  const bags = call.shape[0]!;
  const zeros = (i: number): LoweredTensor =>
    l.pointwise(call.results[i]!.shape, l.ir.const(call.results[i]!.dtype, 0));
  if (isEmpty([count, bags, width])) return [0, 1, 2, 3].map(zeros);
  const indices = checkedIndices(l, 'embedding_bag', given, rows);
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(weight.dtype);
  const length = commonLength(l, offsets, bags, count);
  const bagOf = bagOfEach(l, offsets, bags, count, length);
  if (length === null) bagOf.realize();
  const isKept = (i: IndexExpr): Expr =>
    padding < 0 ? l.ir.const('bool', 1) : m.ne(indices.load([i]), padding);
  const hit = (bag: Expr, i: IndexExpr): Expr => m.and(m.eq(bagOf.load([i]), bag), isKept(i));
  const row = (i: IndexExpr): IndexExpr => position(l, indices.load([i]), rows);
  /** Where in the indices the largest of each bag is, taken one after another. */
  const largestInSteps = (): LoweredTensor | null => {
    const [i, d] = l.vars([count, width]);
    const none = l.pointwise([bags, width], l.ir.const('int32', -1));
    const isLarger = (old: Expr): Expr =>
      m.gt(weight.load([row(i!), d!]), weight.load([row(position(l, old, count)), d!]));
    const isFirst = (old: Expr): Expr => m.lt(old, 0);
    const put = (old: Expr): Expr =>
      m.where(m.and(isKept(i!), m.or(isFirst(old), isLarger(old))), l.ir.index('int32', i!), old);
    const coords = [position(l, bagOf.load([i!]), bags), d!];
    return putInSteps(l, none, 'int32', { sizes: [count, width], along: [0] }, [{ coords, put }]);
  };
  /** The same of all indices at once. */
  const largestOfAll = (): LoweredTensor => {
    const [b, d] = l.vars([bags, width]);
    const own = l.ir.index('int32', b!);
    const first = reduceOver(l, 'argmax', [bags, width], count, (i) =>
      m.where(hit(own, i), m.cast(weight.load([row(i), d!]), acc), -Infinity),
    );
    return l.pointwise([bags, width], first);
  };
  const [bagVar] = l.vars([bags]);
  const known =
    length !== null && padding < 0 ? l.pointwise([bags], l.ir.sizeValue('int32', length)) : null;
  const counted = known ?? countInSteps(l, bags, count, (i) => bagOf.load([i]), isKept);
  const counts =
    counted ??
    l.pointwise(
      [bags],
      reduceOver(l, 'sum', [bags], count, (i) =>
        m.cast(hit(l.ir.index('int32', bagVar!), i), 'int32'),
      ),
    );
  const long = call.results[2]!.dtype;
  const sizes = l.pointwise([bags], m.cast(counts.expr, long));
  const bagList = isEmpty(call.results[1]!.shape)
    ? zeros(1)
    : l.pointwise([count], m.cast(bagOf.expr, call.results[1]!.dtype));
  if (mode === MAX) {
    const [b, d] = l.vars([bags, width]);
    const largest = largestInSteps() ?? largestOfAll();
    const winner = m.cast(indices.load([position(l, largest.load([b, d]), count)]), long);
    const isEmpty = m.eq(counts.load([b]), 0);
    const value = weight.load([position(l, winner, rows), d]);
    return [
      l.pointwise([bags, width], m.where(isEmpty, 0, value)),
      bagList,
      sizes,
      l.pointwise([bags, width], m.where(isEmpty, 0, winner)),
    ];
  }
  const term = (i: IndexExpr, d: IndexExpr): Expr => {
    const read = m.cast(weight.load([row(i), d]), acc);
    const scaled = scales === null ? read : m.mul(read, m.cast(scales.load([i]), acc));
    return padding < 0 ? scaled : m.where(isKept(i), scaled, 0);
  };
  /** Of bags of one length. */
  const sumOfEach = (each: Size): LoweredTensor => {
    const [b, d] = l.vars([bags, width]);
    const first = l.ir.scale(b!, each);
    const total = reduceOver(l, 'sum', [bags, width], each, (k) => term(l.ir.add(first, k), d!));
    return l.pointwise([bags, width], m.cast(total, weight.dtype));
  };
  const sum =
    length === null
      ? sumsByKey(l, {
          rows: count,
          columns: width,
          dtype: weight.dtype,
          value: term,
          key: (i) => bagOf.load([i]),
          keys: bags,
          isSorted: true,
        })
      : sumOfEach(length);
  if (mode !== MEAN) return [sum, bagList, zeros(2), zeros(3)];
  const total = m.cast(m.max(counts.load([l.vars([bags, width])[0]!]), 1), acc);
  const mean = l.pointwise(
    [bags, width],
    m.cast(m.div(m.cast(sum.expr, acc), total), weight.dtype),
  );
  return [mean, bagList, sizes, sizes];
};

/** The bags that a forward call named, or worked out again where it left them out. */
function bagsOf(
  l: Lowering,
  named: LoweredTensor,
  offsets: LoweredTensor,
  bags: Size,
  count: Size,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  if (isSame(named.shape[0]!, count)) return l.pointwise([count], m.cast(named.expr, 'int32'));
  const begun = sizeMin(bags, offsets.shape[0]!);
  const found = bagOfEach(l, offsets, begun, count, commonLength(l, offsets, begun, count));
  found.realize();
  return found;
}

/** An argument that is no size. */
function numberOf(arg: number | SymInt | RuntimeScalar): number {
  return Number(arg instanceof SymInt ? fixed(arg) : arg);
}

/** grad, indices, offsets, offset2bag, bag_size, maximum_indices, num_weights, scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx. */
const backward: SizedLoweringOf<'aten::_embedding_bag_backward'> = (l, args, call) => {
  const grad = readyOperand(l, args[0]);
  const indices = readyOperand(l, args[1]);
  const offsets = readyOperand(l, args[2]);
  const named = readyOperand(l, args[3]);
  const sizes = readyOperand(l, args[4]);
  const winners = readyOperand(l, args[5]);
  const [rows, width] = call.shape;
  const mode = numberOf(args[8]);
  const scales = optional(l, args[10]);
  const padding = numberOf(args[11] ?? -1);
  const bags = grad.shape[0]!;
  const count = indices.shape[0]!;
  if (isEmpty([...call.shape, bags, count]))
    return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(grad.dtype);
  if (mode === MAX) {
    const [b, column] = l.vars([bags, width]);
    const won = winners.load([b, column!]);
    const kept = m.where(m.gt(sizes.load([b]), 0), m.cast(grad.load([b, column!]), acc), 0);
    const steps = { sizes: [bags, width], along: [0] };
    const term = { coords: [position(l, won, rows!), column!], value: kept };
    const sum = sumAtPlaces(l, call.shape, call.dtype, steps, [term]);
    if (sum !== null) return sum;
    const [v, d] = l.vars(call.shape);
    const total = reduceOver(l, 'sum', call.shape, bags, (bag) => {
      const won = winners.load([bag, d!]);
      const isOwn = m.and(m.eq(won, l.ir.index(won.dtype, v!)), m.gt(sizes.load([bag]), 0));
      return m.where(isOwn, m.cast(grad.load([bag, d!]), acc), 0);
    });
    return l.pointwise(call.shape, m.cast(total, call.dtype));
  }
  const bagOf = bagsOf(l, named, offsets, bags, count);
  const uses = args[7] === true ? usesOfRows(l, indices, rows) : null;
  /** What a row gets of the gradient of the bag that index i belongs to. */
  const shareOf = (i: IndexExpr, bag: IndexExpr): Expr => {
    let share = scales === null ? l.ir.const(acc, 1) : m.cast(scales.load([i]), acc);
    if (uses !== null)
      share = m.div(share, m.cast(uses.load([position(l, indices.load([i]), rows!)]), acc));
    if (mode !== MEAN) return share;
    return m.div(share, m.cast(m.max(sizes.load([bag]), 1), acc));
  };
  return sumsByKey(l, {
    rows: count,
    columns: width!,
    dtype: call.dtype,
    value(i, d) {
      const bag = position(l, bagOf.load([i]), bags);
      const value = m.mul(m.cast(grad.load([bag, d]), acc), shareOf(i, bag));
      return padding < 0 ? value : m.where(m.eq(indices.load([i]), padding), 0, value);
    },
    key: (i) => indices.load([i]),
    keys: rows!,
    checkedBy: 'embedding_bag',
  });
};

/** grad, weight, indices, offsets, offset2bag, mode, padding_idx. */
const sampleWeightsBackward: LoweringOf<'aten::_embedding_bag_per_sample_weights_backward'> = (
  l,
  args,
  call,
) => {
  const grad = readyOperand(l, args[0]);
  const weight = readyOperand(l, args[1]);
  const indices = readyOperand(l, args[2]);
  const offsets = readyOperand(l, args[3]);
  const named = readyOperand(l, args[4]);
  const padding = Number(args[6] ?? -1);
  const [bags, width] = grad.shape;
  const count = call.shape[0]!;
  if (isEmpty([count, bags, width])) return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(grad.dtype);
  const bagOf = bagsOf(l, named, offsets, bags, count);
  const [i] = l.vars(call.shape);
  const index = indices.load([i!]);
  const total = reduceOver(l, 'sum', call.shape, width, (d) =>
    m.mul(
      m.cast(grad.load([position(l, bagOf.load([i!]), bags), d]), acc),
      m.cast(weight.load([position(l, index, weight.shape[0]!), d]), acc),
    ),
  );
  const kept = padding < 0 ? total : m.where(m.eq(index, padding), 0, total);
  return l.pointwise(call.shape, m.cast(kept, call.dtype));
};

/** Lowerings by overload name. */
export const embeddingBagLowerings: LoweringTable = lowerings({
  'aten::_embedding_bag': forward,
  'aten::_embedding_bag_backward': backward,
  'aten::_embedding_bag_per_sample_weights_backward': sampleWeightsBackward,
});

/** See `takesSizes`: the number of rows of the table. */
export const SIZED_BAGS: readonly string[] = ['aten::_embedding_bag_backward'];
