/**
 * @file `contract`: sums of products over lists of loop variables: matrix products and convolutions.
 *
 * Products with one row or one column are memory-bound and become reductions (or plain expressions
 * when few terms are summed), which fuse with their neighbours; the others become matmul kernels. So do products of few
 * rows where what the other operand is made of costs more than multiplying with it.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { type Shape, isEmpty, isNumbers, numelOf } from '../shape-math.js';

/** Extents of each role, outermost first. */
export interface ContractShape {
  readonly batch: Shape;
  readonly m: Shape;
  readonly n: Shape;
  readonly k: Shape;
}

/** Coordinates by role. */
export interface ContractPoint {
  readonly batch: readonly IndexExpr[];
  readonly m: readonly IndexExpr[];
  readonly n: readonly IndexExpr[];
}

/** A contraction: `out[coords(b, m, n)] = Σ_k a(b, m, k) · b(b, k, n)`. */
export interface Contraction {
  readonly shape: ContractShape;
  readonly a: (
    batch: readonly IndexExpr[],
    m: readonly IndexExpr[],
    k: readonly IndexExpr[],
  ) => Expr;
  readonly b: (
    batch: readonly IndexExpr[],
    k: readonly IndexExpr[],
    n: readonly IndexExpr[],
  ) => Expr;
  readonly sizes: Shape;
  readonly dtype: DType;
  /** Strides of the result's memory; null for row-major. */
  readonly layout: Shape | null;
  /** Whether a product of one row is not bound by memory: each element of `b` is used for several k. */
  readonly windows?: boolean;
  /** Most rows of a product that is a reduction; one if absent. */
  readonly fewRows?: number;
  /** Where a point goes in the result. */
  readonly coords: (point: ContractPoint) => readonly IndexExpr[];
  /** The inverse of `coords`. */
  readonly decode: (coords: readonly IndexExpr[]) => ContractPoint;
}

/** Most summed terms that are written out as one expression. */
export const UNROLL_LIMIT = 25;

/** See the file header. */
export function contract(l: Lowering, spec: Contraction): LoweredTensor {
  const { shape } = spec;
  if (isEmpty(spec.sizes) || isEmpty(shape.k))
    return l.pointwise(spec.sizes, l.ir.const(spec.dtype, 0));
  const isOne = (sizes: Shape): boolean => numelOf(sizes) === 1;
  const rows = numelOf(shape.m);
  const isFew = typeof rows === 'number' && rows <= (spec.fewRows ?? 1);
  if ((isFew && spec.windows !== true) || isOne(shape.n) || isOne(shape.k))
    return asReduction(l, spec);
  const declare = (
    role: string,
    sizes: Shape,
  ): { readonly indices: IndexExpr[]; readonly vars: SizedLoop[] } => {
    const fresh = sizes.map((size, i) => l.freshVar(`${role}${i}`, size));
    return { indices: fresh.map((f) => f.index), vars: fresh.flatMap((f) => f.vars) };
  };
  const batch = declare('b', shape.batch);
  const m = declare('m', shape.m);
  const n = declare('n', shape.n);
  const k = declare('k', shape.k);
  const accDtype = accumulatorOf(spec.dtype);
  const out = l.newBuffer(spec.dtype, spec.sizes, spec.layout);
  l.addMatmul({
    out,
    coords: spec.coords({ batch: batch.indices, m: m.indices, n: n.indices }),
    batch: batch.vars,
    m: m.vars,
    n: n.vars,
    k: k.vars,
    a: l.ir.cast(spec.a(batch.indices, m.indices, k.indices), accDtype),
    b: l.ir.cast(spec.b(batch.indices, k.indices, n.indices), accDtype),
    accDtype,
  });
  return l.fromBuffer(out);
}

/** Type in which products of `dtype` are summed. */
function accumulatorOf(dtype: DType): DType {
  return dtype === 'bool' ? 'int32' : accumulateDtype(dtype);
}

function asReduction(l: Lowering, spec: Contraction): LoweredTensor {
  const accDtype = accumulatorOf(spec.dtype);
  const { batch, m, n } = spec.decode(l.vars(spec.sizes));
  const term = (k: readonly IndexExpr[]): Expr =>
    l.ir.op('mul', [
      l.ir.cast(spec.a(batch, m, k), accDtype),
      l.ir.cast(spec.b(batch, k, n), accDtype),
    ]);
  const count = numelOf(spec.shape.k);
  if (isNumbers(spec.shape.k) && Number(count) <= UNROLL_LIMIT) {
    let total: Expr | null = null;
    for (let i = 0; i < Number(count); i++) {
      const product = term(digits(l, i, spec.shape.k));
      total = total === null ? product : l.ir.op('add', [total, product]);
    }
    return l.pointwise(spec.sizes, l.ir.cast(total!, spec.dtype));
  }
  const fresh = spec.shape.k.map((size, i) => l.freshVar(`k${i}`, size));
  const inner = fresh.flatMap((f) => f.vars);
  const order = [...l.loopVars(spec.sizes), ...inner];
  const [sum] = reducePlan(l, {
    op: 'sum',
    dtype: accDtype,
    sizes: spec.sizes,
    inner,
    order,
    value: term(fresh.map((f) => f.index)),
  });
  return l.pointwise(spec.sizes, l.ir.cast(sum!.expr, spec.dtype));
}

/** The coordinates of flat position `i` as constants. */
export function digits(l: Lowering, i: number, sizes: readonly number[]): IndexExpr[] {
  const result: IndexExpr[] = [];
  let rest = i;
  for (let d = sizes.length - 1; d >= 0; d--) {
    result.unshift(l.ir.int(rest % sizes[d]!));
    rest = Math.floor(rest / sizes[d]!);
  }
  return result;
}
