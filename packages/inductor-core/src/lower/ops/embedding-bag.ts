/**
 * @file Embedding bags: rows of a table summed per bag as a product with a one-hot operand, and the gradients.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { type Size, SymInt, sizeAdd, sizeMin, sizeMul } from '@tessera/shared';
import { indexCheck } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { checkedIndices, checkedPosition, position } from '../checked-value.js';
import { type Contraction, contract } from './contract.js';
import { reduceOver } from './distance.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { sumInSteps, takesSteps } from '../put-in-steps.js';
import { accumulateDtype } from '../reduce.js';
import type { LoweredArg, RuntimeScalar } from '../registry.js';
import { fixed, isEmpty, isSame } from '../shape-math.js';
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

/** The bag of each index: how many bags begin at or before it, less one. */
function bagOfEach(l: Lowering, offsets: LoweredTensor, bags: Size, count: Size): LoweredTensor {
  const m = new ExprMath(l.ir);
  if (isSame(bags, 0)) return l.pointwise([count], l.ir.const('int32', 0));
  const [i] = l.vars([count]);
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

/** How often `count` places name each of `size`, taken one after another; null where comparing each with all is as good. */
function countInSteps(
  l: Lowering,
  size: Size,
  count: Size,
  place: (i: IndexExpr) => Expr,
  counts: (i: IndexExpr) => Expr = () => l.ir.const('int32', 1),
): LoweredTensor | null {
  if (affordable(l, size, count, count, 'scatter')) return null;
  const [i] = l.vars([count]);
  const value = l.ir.cast(counts(i!), 'int32');
  const coords = [position(l, place(i!), size)];
  return sumInSteps(l, [size], 'int32', { sizes: [count], along: [0] }, [{ coords, value }]);
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
  const isProduct = affordable(l, sizeMul(bags, width), count, sizeMul(count, width), 'product');
  const isSum = mode !== MAX && takesSteps(l);
  if (!isProduct && !isSum) return null;
  const indices = checkedIndices(l, 'embedding_bag', given, rows);
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(weight.dtype);
  const bagOf = bagOfEach(l, offsets, bags, count);
  bagOf.realize();
  const isKept = (i: IndexExpr): Expr =>
    padding < 0 ? l.ir.const('bool', 1) : m.ne(indices.load([i]), padding);
  const hit = (bag: Expr, i: IndexExpr): Expr => m.and(m.eq(bagOf.load([i]), bag), isKept(i));
  const row = (i: IndexExpr): IndexExpr => position(l, indices.load([i]), rows);
  const [bagVar] = l.vars([bags]);
  const counted = countInSteps(l, bags, count, (i) => bagOf.load([i]), isKept);
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
    const own = l.ir.index('int32', b);
    const first = reduceOver(l, 'argmax', [bags, width], count, (i) =>
      m.where(hit(own, i), m.cast(weight.load([row(i), d]), acc), -Infinity),
    );
    const winner = m.cast(indices.load([position(l, first, count)]), long);
    const isEmpty = m.eq(counts.load([b]), 0);
    const value = weight.load([position(l, winner, rows), d]);
    return [
      l.pointwise([bags, width], m.where(isEmpty, 0, value)),
      bagList,
      sizes,
      l.pointwise([bags, width], m.where(isEmpty, 0, winner)),
    ];
  }
  const inSteps = (): LoweredTensor => {
    const [i, d] = l.vars([count, width]);
    const bag = bagOf.load([i!]);
    const read = m.cast(weight.load([row(i!), d!]), acc);
    const scaled = scales === null ? read : m.mul(read, m.cast(scales.load([i!]), acc));
    const term = { coords: [position(l, bag, bags), d!], value: m.where(isKept(i!), scaled, 0) };
    const steps = { sizes: [count, width], along: [0] };
    return sumInSteps(l, [bags, width], weight.dtype, steps, [term])!;
  };
  const product: Contraction = {
    shape: { batch: [], m: [bags], n: [width], k: [count] },
    a: (_, [b], [i]) => {
      const own = m.cast(hit(l.ir.index('int32', b!), i!), acc);
      return scales === null ? own : m.mul(own, m.cast(scales.load([i!]), acc));
    },
    b: (_, [i], [d]) => m.cast(weight.load([row(i!), d!]), acc),
    sizes: [bags, width],
    dtype: weight.dtype,
    layout: null,
    coords: ({ m: [b], n: [d] }) => [b!, d!],
    decode: ([b, d]) => ({ batch: [], m: [b!], n: [d!] }),
  };
  const sum = isProduct ? contract(l, product) : inSteps();
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
  const found = bagOfEach(l, offsets, sizeMin(bags, offsets.shape[0]!), count);
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
  const isProduct = affordable(l, sizeMul(rows, width), count, sizeMul(count, width), 'product');
  if (!isProduct && (mode === MAX || args[7] === true || !takesSteps(l))) return null;
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(grad.dtype);
  if (mode === MAX) {
    const [v, d] = l.vars(call.shape);
    const total = reduceOver(l, 'sum', call.shape, bags, (b) => {
      const won = winners.load([b, d!]);
      const isOwn = m.and(m.eq(won, l.ir.index(won.dtype, v!)), m.gt(sizes.load([b]), 0));
      return m.where(isOwn, m.cast(grad.load([b, d!]), acc), 0);
    });
    return l.pointwise(call.shape, m.cast(total, call.dtype));
  }
  const bagOf = bagsOf(l, named, offsets, bags, count);
  const uses = args[7] === true ? usesOfRows(l, indices, rows) : null;
  /** What a row gets of the gradient of the bag that index i belongs to. */
  const shareOf = (i: IndexExpr): Expr => {
    const share = scales === null ? l.ir.const(acc, 1) : m.cast(scales.load([i]), acc);
    if (mode !== MEAN) return share;
    const size = sizes.load([position(l, bagOf.load([i]), bags)]);
    return m.div(share, m.cast(m.max(size, 1), acc));
  };
  const given = (i: IndexExpr, d: IndexExpr): Expr =>
    m.cast(grad.load([position(l, bagOf.load([i]), bags), d]), acc);
  if (!isProduct) {
    const [i, d] = l.vars([count, width]);
    const index = indices.load([i!]);
    const value = m.mul(given(i!, d!), shareOf(i!));
    const term = {
      coords: [checkedPosition(l, 'embedding_bag', index, rows), d!],
      value: padding < 0 ? value : m.where(m.eq(index, padding), 0, value),
    };
    return sumInSteps(l, call.shape, call.dtype, { sizes: [count, width], along: [0] }, [term]);
  }
  return contract(l, {
    shape: { batch: [], m: [rows], n: [width], k: [count] },
    a: (_, [v], [i]) => {
      const index = indices.load([i!]);
      const own = m.eq(index, l.ir.index(index.dtype, v!));
      const counted = padding < 0 ? own : m.and(own, m.ne(index, padding));
      const share = shareOf(i!);
      const each = uses === null ? share : m.div(share, m.cast(m.max(uses.load([v!]), 1), acc));
      return m.where(counted, each, 0);
    },
    b: (_, [i], [d]) => given(i!, d!),
    sizes: call.shape,
    dtype: call.dtype,
    layout: null,
    coords: ({ m: [v], n: [d] }) => [v!, d!],
    decode: ([v, d]) => ({ batch: [], m: [v!], n: [d!] }),
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
