/**
 * @file Where parameters and samples of distributions may lie.
 */
import { type Tensor, abs, floor, logicalAnd } from '@tessera/tensor';

/** A set of values, as PyTorch prints it, and which elements lie in it. */
export interface Constraint {
  readonly text: string;
  /** One truth value per element, or per event. */
  readonly check: (value: Tensor) => Tensor;
}

export const real: Constraint = { text: 'Real()', check: (x) => x.eq(x) };
export const positive: Constraint = {
  text: 'GreaterThan(lower_bound=0.0)',
  check: (x) => x.gt(0),
};
export const nonNegative: Constraint = {
  text: 'GreaterThanEq(lower_bound=0.0)',
  check: (x) => x.ge(0),
};
export const unitInterval: Constraint = {
  text: 'Interval(lower_bound=0.0, upper_bound=1.0)',
  check: (x) => logicalAnd(x.ge(0), x.le(1)),
};
export const boolean: Constraint = {
  text: 'Boolean()',
  check: (x) => x.eq(0).logicalOr(x.eq(1)),
};
export const nonNegativeInteger: Constraint = {
  text: 'IntegerGreaterThan(lower_bound=0)',
  check: (x) => logicalAnd(x.eq(floor(x.to('float64'))), x.ge(0)),
};
/** Not negative, with sum 1 along the last dimension. */
export const simplex: Constraint = {
  text: 'Simplex()',
  check: (x) =>
    x
      .ge(0)
      .all(-1)
      .logicalAnd(abs(x.sum(-1).sub(1)).lt(1e-6)),
};
export const realVector: Constraint = {
  text: 'IndependentConstraint(Real(), 1)',
  check: (x) => x.eq(x).all(-1),
};
/** No signs above the diagonal, a positive diagonal. */
export const lowerCholesky: Constraint = {
  text: 'LowerCholesky()',
  check: (x) =>
    x
      .tril()
      .eq(x)
      .all(-1)
      .all(-1)
      .logicalAnd(x.diagonal(0, -2, -1).gt(0).all(-1)),
};

/** Whole numbers from 0 to `most`. */
export function integersUpTo(most: Tensor | number): Constraint {
  return {
    text: 'IntegerInterval(lower_bound=0)',
    check: (x) => nonNegativeInteger.check(x).logicalAnd(x.le(most)),
  };
}

/** From `low` to `high`. */
export function between(low: Tensor, high: Tensor): Constraint {
  return { text: 'Interval(low, high)', check: (x) => logicalAnd(x.ge(low), x.le(high)) };
}
