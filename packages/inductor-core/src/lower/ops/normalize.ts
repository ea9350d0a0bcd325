/**
 * @file The parts that all normalisations share: moments by Welford's method, the rest pointwise.
 *
 * Layer norm, batch norm and group norm differ only in which dimensions are averaged and over which
 * the weight varies.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { castTensor } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import { countOf, momentsOf } from './reduction.js';
import type { LoweredArg } from '../registry.js';
import type { Shape } from '../shape-math.js';

/** Coordinates of a per-channel parameter or a statistic at the canonical coordinates of the input. */
export type Project = (vars: readonly IndexExpr[]) => readonly IndexExpr[];

/** A parameter that may be missing, in the accumulating type. */
export function optional(
  l: Lowering,
  arg: LoweredArg,
  project: Project,
  sizes: Shape,
  dtype: DType,
): Expr | null {
  return arg instanceof LoweredTensor ? l.ir.cast(arg.load(project(l.vars(sizes))), dtype) : null;
}

/** (x - mean) · rstd · weight + bias. */
export function affine(
  l: Lowering,
  x: Expr,
  mean: Expr,
  rstd: Expr,
  weight: Expr | null,
  bias: Expr | null,
): Expr {
  const m = new ExprMath(l.ir);
  let value = m.mul(m.sub(x, mean), rstd);
  if (weight !== null) value = m.mul(value, weight);
  return bias === null ? value : m.add(value, bias);
}

/** A normalisation. */
export interface NormCall {
  readonly input: LoweredTensor;
  readonly dims: readonly number[];
  readonly eps: number;
  readonly weight: LoweredArg;
  readonly bias: LoweredArg;
  readonly parameterCoords: Project;
  readonly dtype: DType;
}

/** What a normalisation gives. */
export interface NormResult {
  readonly out: LoweredTensor;
  /** Reduced dimensions kept as 1. */
  readonly mean: LoweredTensor;
  readonly rstd: LoweredTensor;
  readonly m2: LoweredTensor;
  readonly count: Size;
}

/** Coordinates of a statistic: the averaged dimensions at 0. */
export function keptCoords(l: Lowering, dims: readonly number[]): Project {
  return (vars) => vars.map((v, d) => (dims.includes(d) ? l.ir.int(0) : v));
}

/** Normalises over `dims` and applies weight and bias. */
export function normalize(l: Lowering, call: NormCall): NormResult {
  const acc = accumulateDtype(call.dtype);
  const x = castTensor(l, call.input, acc);
  const m = new ExprMath(l.ir);
  const { mean, m2, count } = momentsOf(l, x, call.dims, true);
  const rstd = l.pointwise(
    m2.shape,
    m.rsqrt(
      m.add(m.div(m2.expr, typeof count === 'number' ? Math.max(count, 1) : count), call.eps),
    ),
  );
  const at = keptCoords(l, call.dims)(l.vars(x.shape));
  const weight = optional(l, call.weight, call.parameterCoords, x.shape, acc);
  const bias = optional(l, call.bias, call.parameterCoords, x.shape, acc);
  const out = l.pointwise(
    x.shape,
    m.cast(affine(l, x.expr, mean.load(at), rstd.load(at), weight, bias), call.dtype),
  );
  return { out, mean, rstd, m2, count };
}

/** The gradient of a normalisation. */
export interface NormBackward {
  readonly grad: LoweredTensor;
  readonly input: LoweredTensor;
  readonly dims: readonly number[];
  readonly mean: Expr;
  readonly rstd: Expr;
  readonly weight: Expr | null;
  /** Dimensions over which the parameters' gradients are summed. */
  readonly parameterDims: readonly number[];
  readonly parameterSizes: Shape;
  readonly mask: readonly boolean[];
  readonly dtypes: readonly DType[];
  /** False: statistics were given, so the input's gradient is only scaled. */
  readonly throughStatistics: boolean;
}

/** Gradients of input, weight and bias as far as the mask asks for them. */
export function normalizeBackward(l: Lowering, call: NormBackward): (LoweredTensor | null)[] {
  const acc = accumulateDtype(call.input.dtype);
  const sizes = call.input.shape;
  const m = new ExprMath(l.ir);
  const g = l.ir.cast(call.grad.expr, acc);
  const normal = m.mul(m.sub(l.ir.cast(call.input.expr, acc), call.mean), call.rstd);
  const weighted = call.weight === null ? g : m.mul(g, call.weight);
  const sumOver = (value: Expr, dims: readonly number[], keepdim: boolean): LoweredTensor =>
    reduce(l, 'sum', l.pointwise(sizes, value), dims, keepdim, acc)[0]!;
  const parameter = (value: Expr, dtype: DType): LoweredTensor => {
    const sum = sumOver(value, call.parameterDims, false);
    return castTensor(
      l,
      sum.view(call.parameterSizes, reshaped(l, sum.shape, call.parameterSizes)),
      dtype,
    );
  };
  let gradInput: LoweredTensor | null = null;
  if (call.mask[0]) {
    const count = countOf(sizes, call.dims);
    const at = keptCoords(l, call.dims)(l.vars(sizes));
    let value = m.mul(call.rstd, weighted);
    if (call.throughStatistics) {
      const average = m.div(sumOver(weighted, call.dims, true).load(at), count);
      const slope = m.div(sumOver(m.mul(weighted, normal), call.dims, true).load(at), count);
      value = m.mul(call.rstd, m.sub(m.sub(weighted, average), m.mul(normal, slope)));
    }
    gradInput = l.pointwise(sizes, m.cast(value, call.dtypes[0]!));
  }
  return [
    gradInput,
    call.mask[1] ? parameter(m.mul(g, normal), call.dtypes[1]!) : null,
    call.mask[2] ? parameter(g, call.dtypes[2]!) : null,
  ];
}

/** Coordinates of equal-sized shapes whose dimensions agree but for those of size 1. */
export function reshaped(l: Lowering, from: Shape, to: Shape): IndexExpr[] {
  const vars = l.vars(to).filter((_, d) => to[d] !== 1);
  return from.map((size) => (size === 1 ? l.ir.int(0) : vars.shift()!));
}
