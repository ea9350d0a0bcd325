/**
 * @file Lowerings of reductions: sums, extremes, logic, moments.
 */
import { type Size, TesseraError, sizeSub } from '@tessera/shared';
import { type DType } from '@tessera/tensor';
import { wrapDims } from '@tessera/tensor/internal';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import { castTensor, floating, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import { type LoweredArg, type LoweringCall, type LoweringFn, RuntimeScalar } from '../registry.js';
import { type Shape, fixed, numelOf } from '../shape-math.js';

/** Reduced dimensions of an argument that may be a number, a list or null (all). */
export function dimsOf(arg: LoweredArg, rank: number, op: string): number[] {
  return wrapDims(arg as number | readonly number[] | null | undefined, rank, op);
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

/** sum and prod: arguments are self, [dim, keepdim,] dtype. */
function additive(op: 'sum' | 'prod', form: 'all' | 'dim'): LoweringFn {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    const dims = dimsOf(form === 'all' ? null : args[1], x.shape.length, call.op);
    return reduceTo(l, op, x, dims, form === 'dim' && args[2] === true, call.dtype);
  };
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

function mean(form: 'all' | 'dim'): LoweringFn {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    return meanOf(
      l,
      x,
      dimsOf(form === 'all' ? null : args[1], x.shape.length, call.op),
      form === 'dim' && args[2] === true,
      call.dtype,
    );
  };
}

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

/** amax, amin: self, dim list, keepdim. */
function extremes(op: 'max' | 'min', form: 'all' | 'dims'): LoweringFn {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    const dims = dimsOf(form === 'all' ? null : args[1], x.shape.length, call.op);
    rejectEmpty(x, dims, call);
    return reduce(l, extremeOp(op, x.dtype), x, dims, form === 'dims' && args[2] === true)[0]!;
  };
}

/** max.dim and min.dim: values and indices. */
function extremeWithIndex(op: 'max' | 'min'): LoweringFn {
  return (l, [self, dim, keepdim], call) => {
    const x = tensorArg(self!, call.op);
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

function argExtreme(op: 'argmax' | 'argmin'): LoweringFn {
  return (l, [self, dim, keepdim], call) => {
    const x = tensorArg(self!, call.op);
    const dims = dimsOf(dim, x.shape.length, call.op);
    rejectEmpty(x, dims, call);
    return reduce(l, op, comparable(l, x), dims, keepdim === true)[0]!;
  };
}

/** any and all: self, [dim or dims, keepdim]. */
function logic(op: 'any' | 'all', form: 'all' | 'dim'): LoweringFn {
  return (l, args, call) => {
    const x = castTensor(l, tensorArg(args[0]!, call.op), 'bool');
    const dims = dimsOf(form === 'all' ? null : args[1], x.shape.length, call.op);
    return castTensor(
      l,
      reduce(l, op, x, dims, form === 'dim' && args[2] === true)[0]!,
      call.dtype,
    );
  };
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

type MomentForm = 'all' | 'dim' | 'correction';

/** Arguments of the three forms of var and std. */
function momentArguments(
  form: MomentForm,
  args: readonly LoweredArg[],
  rank: number,
  op: string,
): { readonly dims: number[]; readonly correction: LoweredArg; readonly keepdim: boolean } {
  const bessel = (unbiased: LoweredArg): number => (unbiased === false ? 0 : 1);
  if (form === 'all')
    return { dims: dimsOf(null, rank, op), correction: bessel(args[1]), keepdim: false };
  const dims = dimsOf(args[1], rank, op);
  if (form === 'dim') return { dims, correction: bessel(args[2]), keepdim: args[3] === true };
  return { dims, correction: args[2] ?? 1, keepdim: args[3] === true };
}

function moments(results: 'var' | 'std' | 'var_mean' | 'std_mean', form: MomentForm): LoweringFn {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    const { dims, correction, keepdim } = momentArguments(form, args, x.shape.length, call.op);
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
    return results.endsWith('mean') ? [spread, castTensor(l, average, call.dtype)] : spread;
  };
}

/** log Σ exp, stable for infinite entries. */
const logsumexp: LoweringFn = (l, [self, dim, keepdim], call) => {
  const x = castTensor(
    l,
    tensorArg(self!, call.op),
    accumulateDtype(floating(tensorArg(self!, call.op).dtype)),
  );
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
const vectorNorm: LoweringFn = (l, [self, ord, dim, keepdim], call) => {
  const x = tensorArg(self!, call.op);
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

const MOMENT_FORMS: readonly [string, MomentForm][] = [
  ['', 'all'],
  ['.dim', 'dim'],
  ['.correction', 'correction'],
];

/** Lowerings by overload name. */
export const reductionLowerings: Readonly<Record<string, LoweringFn>> = {
  'aten::sum': additive('sum', 'all'),
  'aten::sum.dim_IntList': additive('sum', 'dim'),
  'aten::prod': additive('prod', 'all'),
  'aten::prod.dim_int': additive('prod', 'dim'),
  'aten::mean': mean('all'),
  'aten::mean.dim': mean('dim'),
  'aten::max': extremes('max', 'all'),
  'aten::min': extremes('min', 'all'),
  'aten::amax': extremes('max', 'dims'),
  'aten::amin': extremes('min', 'dims'),
  'aten::max.dim': extremeWithIndex('max'),
  'aten::min.dim': extremeWithIndex('min'),
  'aten::argmax': argExtreme('argmax'),
  'aten::argmin': argExtreme('argmin'),
  'aten::any': logic('any', 'all'),
  'aten::any.dim': logic('any', 'dim'),
  'aten::any.dims': logic('any', 'dim'),
  'aten::all': logic('all', 'all'),
  'aten::all.dim': logic('all', 'dim'),
  'aten::all.dims': logic('all', 'dim'),
  ...Object.fromEntries(
    (['var', 'std', 'var_mean', 'std_mean'] as const).flatMap((name) =>
      MOMENT_FORMS.map(([suffix, form]) => [`aten::${name}${suffix}`, moments(name, form)]),
    ),
  ),
  'aten::logsumexp': logsumexp,
  'aten::linalg_vector_norm': vectorNorm,
  'aten::norm.ScalarOpt_dim': vectorNorm,
};
