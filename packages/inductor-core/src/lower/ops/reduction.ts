/**
 * @file Lowerings of reductions: sums, extremes, logic, moments.
 */
import { overloads } from './pointwise.js';
import { type Size, TesseraError, sizeSub, type SymInt } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { wrapDims } from '@tessera/tensor/internal';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import { castTensor, floating, type IntListArg, intList } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import { type LoweringCall, RuntimeScalar } from '../registry.js';
import { type Shape, fixed, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Reduced dimensions of an argument that may be a number, a list or null (all). */
export function dimsOf(arg: IntListArg | RuntimeScalar, rank: number, op: string): number[] {
  return wrapDims(
    arg instanceof RuntimeScalar ? Number(arg) : arg == null ? null : intList(arg),
    rank,
    op,
  );
}

/** Number of elements over which `dims` reduce. */
export function countOf(sizes: Shape, dims: readonly number[]): Size {
  return numelOf(dims.map((d) => sizes[d]!));
}

/** A reduction of elements as the recorded type holds them, accumulated in a wide one and converted back. */
function reduceTo(
  l: Lowering,
  op: ReduceOp,
  x: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType,
): LoweredTensor {
  const entered = castTensor(l, x, dtype);
  const [result] = reduce(l, op, entered, dims, keepdim, accumulateDtype(dtype));
  return castTensor(l, result!, dtype);
}

/** A reduction of a tensor over some dimensions. */
type Reduction = (
  l: Lowering,
  x: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
  call: LoweringCall,
) => LoweredTensor;

/** The reduction over all dimensions. */
function whole(
  reduction: Reduction,
): LoweringOf<`aten::${'sum' | 'prod' | 'mean' | 'max' | 'min' | 'any' | 'all'}`> {
  return (l, [x], call) => reduction(l, x, dimsOf(null, x.shape.length, call.op), false, call);
}

/** The reduction over the dimensions that an argument names. */
function along(
  reduction: Reduction,
): LoweringOf<
  | 'aten::sum.dim_IntList'
  | 'aten::prod.dim_int'
  | 'aten::mean.dim'
  | `aten::${'amax' | 'amin'}`
  | `aten::${'any' | 'all'}.${'dim' | 'dims'}`
> {
  return (l, [x, dim, keepdim], call) =>
    reduction(l, x, dimsOf(dim, x.shape.length, call.op), keepdim === true, call);
}

function additive(op: 'sum' | 'prod'): Reduction {
  return (l, x, dims, keepdim, call) => reduceTo(l, op, x, dims, keepdim, call.dtype);
}

/** The mean as a sum divided by the count. */
export function meanOf(
  l: Lowering,
  x: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType,
): LoweredTensor {
  const acc = accumulateDtype(dtype);
  const [total] = reduce(l, 'sum', x, dims, keepdim, acc);
  const quotient = l.ir.op('div', [total!.expr, l.ir.sizeValue(acc, countOf(x.shape, dims))]);
  return l.pointwise(total!.shape, l.ir.cast(quotient, dtype));
}

const mean: Reduction = (l, x, dims, keepdim, call) => meanOf(l, x, dims, keepdim, call.dtype);

/** Extremes of bool are logic. */
function extremeOp(op: 'max' | 'min', dtype: DType): ReduceOp {
  return dtype === 'bool' ? (op === 'max' ? 'any' : 'all') : op;
}

function rejectEmpty(x: LoweredTensor, dims: readonly number[], call: LoweringCall): void {
  if (countOf(x.shape, dims) !== 0 || call.shape.some((size) => size === 0)) return;
  throw new TesseraError(
    'invalid-argument',
    `${call.op}: expected the reduced dimension to have elements, but the tensor is of size [${x.shape.join(', ')}].`,
    {
      hints: ['An extreme of nothing is undefined; check the size before reducing.'],
    },
  );
}

function extremes(op: 'max' | 'min'): Reduction {
  return (l, x, dims, keepdim, call) => {
    rejectEmpty(x, dims, call);
    return reduce(l, extremeOp(op, x.dtype), x, dims, keepdim)[0]!;
  };
}

/** max.dim and min.dim: values and indices. */
function extremeWithIndex(op: 'max' | 'min'): LoweringOf<'aten::max.dim' | 'aten::min.dim'> {
  return (l, [x, dim, keepdim], call) => {
    const dims = dimsOf(dim, x.shape.length, call.op);
    rejectEmpty(x, dims, call);
    const values = reduce(l, extremeOp(op, x.dtype), x, dims, keepdim === true)[0]!;
    const indices = reduce(
      l,
      op === 'max' ? 'argmax' : 'argmin',
      comparable(l, x),
      dims,
      keepdim === true,
    )[0]!;
    return [values, indices];
  };
}

/** bool has no order of its own in kernels. */
function comparable(l: Lowering, x: LoweredTensor): LoweredTensor {
  return x.dtype === 'bool' ? castTensor(l, x, 'int32') : x;
}

function argExtreme(op: 'argmax' | 'argmin'): LoweringOf<'aten::argmax' | 'aten::argmin'> {
  return (l, [x, dim, keepdim], call) => {
    const dims = dimsOf(dim, x.shape.length, call.op);
    rejectEmpty(x, dims, call);
    return reduce(l, op, comparable(l, x), dims, keepdim === true)[0]!;
  };
}

function logic(op: 'any' | 'all'): Reduction {
  return (l, x, dims, keepdim, call) =>
    castTensor(l, reduce(l, op, castTensor(l, x, 'bool'), dims, keepdim)[0]!, call.dtype);
}

/** Mean and sum of squared deviations over `dims`, by Welford's method. */
export function momentsOf(
  l: Lowering,
  x: LoweredTensor,
  dims: readonly number[],
  keepdim: boolean,
): { readonly mean: LoweredTensor; readonly m2: LoweredTensor; readonly count: Size } {
  const [average, m2] = reduce(l, 'welford', x, dims, keepdim, accumulateDtype(floating(x.dtype)));
  return { mean: average!, m2: m2!, count: countOf(x.shape, dims) };
}

/** The divisor of a variance. */
function freedomOf(count: Size, correction: number): Size {
  if (typeof count === 'number') return Math.max(count - correction, 0);
  const isWhole = Number.isSafeInteger(correction);
  return isWhole && correction <= 2
    ? sizeSub(count, correction)
    : Math.max(fixed(count) - correction, 0);
}

/** Which moments a lowering returns. */
type Moments = 'var' | 'std' | 'var_mean' | 'std_mean';

function momentsTo(
  l: Lowering,
  results: Moments,
  x: LoweredTensor,
  dims: readonly number[],
  correction: number | RuntimeScalar | boolean | SymInt,
  keepdim: boolean,
  call: LoweringCall,
): LoweredTensor | LoweredTensor[] {
  const { mean: average, m2, count } = momentsOf(l, x, dims, keepdim);
  const m = new ExprMath(l.ir);
  const total = l.ir.sizeValue(m2.dtype, count);
  const freedom =
    correction instanceof RuntimeScalar
      ? m.max(m.sub(total, m.cast(correction.expr, m2.dtype)), 0)
      : m.term(freedomOf(count, Number(correction)), m2.dtype);
  const variance: Expr = m.div(m2.expr, freedom);
  const spread = l.pointwise(
    m2.shape,
    m.cast(results.startsWith('std') ? m.sqrt(variance) : variance, call.dtype),
  );
  if (!results.endsWith('mean')) return spread;
  // Of nothing both are 0 / 0.
  return [spread, count === 0 ? spread : castTensor(l, average, call.dtype)];
}

/** The three forms of var and std. */
function moments(results: Moments): LoweringTable {
  const whole: LoweringOf<`aten::${Moments}`> = (l, [x, unbiased], call) =>
    momentsTo(l, results, x, dimsOf(null, x.shape.length, call.op), bessel(unbiased), false, call);
  const along: LoweringOf<`aten::${Moments}.dim`> = (l, [x, dim, unbiased, keepdim], call) => {
    const dims = dimsOf(dim, x.shape.length, call.op);
    return momentsTo(l, results, x, dims, bessel(unbiased), keepdim === true, call);
  };
  const corrected: LoweringOf<`aten::${Moments}.correction`> = (
    l,
    [x, dim, correction, keepdim],
    call,
  ) => {
    const dims = dimsOf(dim, x.shape.length, call.op);
    return momentsTo(l, results, x, dims, correction ?? 1, keepdim === true, call);
  };
  return {
    ...overloads(results, whole, ['']),
    ...overloads(results, along, ['.dim']),
    ...overloads(results, corrected, ['.correction']),
  };
}

function bessel(unbiased: boolean | RuntimeScalar): number {
  return unbiased === false ? 0 : 1;
}

/** log Σ exp, stable for infinite entries. */
const logsumexp: LoweringOf<'aten::logsumexp'> = (l, [self, dim, keepdim], call) => {
  const x = castTensor(l, self, accumulateDtype(floating(self.dtype)));
  const dims = dimsOf(dim, x.shape.length, call.op);
  if (countOf(x.shape, dims) === 0)
    return l.pointwise(call.shape, l.ir.const(call.dtype, -Infinity));
  const m = new ExprMath(l.ir);
  const [peak] = reduce(l, 'max', x, dims, true);
  const finite = l.pointwise(peak!.shape, m.where(l.ir.op('isinf', [peak!.expr]), 0, peak!.expr));
  const shifted = m.exp(
    m.sub(x.expr, finite.load(l.vars(x.shape).map((v, d) => (dims.includes(d) ? l.ir.int(0) : v)))),
  );
  const [total] = reduce(l, 'sum', l.pointwise(x.shape, shifted), dims, true);
  const result = l.pointwise(
    peak!.shape,
    m.cast(m.add(m.log(total!.expr), finite.expr), call.dtype),
  );
  return keepdim === true ? result : dropDims(l, result, dims);
};

/** The tensor without dimensions of size 1. */
function dropDims(l: Lowering, x: LoweredTensor, dims: readonly number[]): LoweredTensor {
  const sizes = x.shape.filter((_, d) => !dims.includes(d));
  const vars = [...l.vars(sizes)];
  return x.view(
    sizes,
    x.shape.map((_, d) => (dims.includes(d) ? l.ir.int(0) : vars.shift()!)),
  );
}

/** Vector norm of any order: self, ord, dim, keepdim, dtype. */
const vectorNorm: LoweringOf<'aten::linalg_vector_norm' | 'aten::norm.ScalarOpt_dim'> = (
  l,
  [x, ord, dim, keepdim],
  call,
) => {
  const dims = dimsOf(dim, x.shape.length, call.op);
  const acc = accumulateDtype(call.dtype);
  const m = new ExprMath(l.ir);
  const p = Number(ord ?? 2);
  const size = m.abs(l.ir.cast(x.expr, acc));
  const over = (op: ReduceOp, value: Expr): Expr =>
    reduce(l, op, l.pointwise(x.shape, value), dims, keepdim === true, acc)[0]!.expr;
  const result =
    p === Infinity
      ? over('max', size)
      : p === -Infinity
        ? over('min', size)
        : p === 0
          ? over('sum', m.cast(m.ne(size, 0), acc))
          : p === 1
            ? over('sum', size)
            : p === 2
              ? m.sqrt(over('sum', m.square(size)))
              : m.pow(over('sum', m.pow(size, p)), 1 / p);
  return l.pointwise(call.shape, l.ir.cast(result, call.dtype));
};

/** Lowerings by overload name. */
export const reductionLowerings: LoweringTable = lowerings({
  'aten::sum': whole(additive('sum')),
  'aten::sum.dim_IntList': along(additive('sum')),
  'aten::prod': whole(additive('prod')),
  'aten::prod.dim_int': along(additive('prod')),
  'aten::mean': whole(mean),
  'aten::mean.dim': along(mean),
  'aten::max': whole(extremes('max')),
  'aten::min': whole(extremes('min')),
  'aten::amax': along(extremes('max')),
  'aten::amin': along(extremes('min')),
  'aten::max.dim': extremeWithIndex('max'),
  'aten::min.dim': extremeWithIndex('min'),
  'aten::argmax': argExtreme('argmax'),
  'aten::argmin': argExtreme('argmin'),
  'aten::any': whole(logic('any')),
  'aten::any.dim': along(logic('any')),
  'aten::any.dims': along(logic('any')),
  'aten::all': whole(logic('all')),
  'aten::all.dim': along(logic('all')),
  'aten::all.dims': along(logic('all')),
  ...moments('var'),
  ...moments('std'),
  ...moments('var_mean'),
  ...moments('std_mean'),
  'aten::logsumexp': logsumexp,
  'aten::linalg_vector_norm': vectorNorm,
  'aten::norm.ScalarOpt_dim': vectorNorm,
});
