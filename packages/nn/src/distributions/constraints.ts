/**
 * @file Where parameters and samples of distributions may lie. Modelled on `torch.distributions.constraints`.
 */
import {
  type Tensor,
  abs,
  cat as catTensors,
  floor,
  isTensor,
  isclose,
  logicalAnd,
  stack as stackTensors,
  zeros,
} from '@tessera/tensor';
import { choleskyEx } from '@tessera/tensor/linalg';
import { floatLiteral } from '../module/module-repr.js';

/** A bound, the same for all elements or one for each. */
export type Bound = Tensor | number;

/** A set of values, as PyTorch prints it, and which elements lie in it. */
export interface Constraint {
  readonly text: string;
  /** One truth value per element, or per event. */
  readonly check: (value: Tensor) => Tensor;
  /** How many dimensions an event has (default 0). */
  readonly eventDim?: number;
  /** Whether values are whole numbers. */
  readonly isDiscrete?: boolean;
  /** What values of a continuous set are above. */
  readonly lower?: Bound;
  /** What values of a continuous set are below. */
  readonly upper?: Bound;
  /** What elements of an event of independent ones satisfy, and how many dimensions were added. */
  readonly each?: { readonly base: Constraint; readonly count: number };
  /** Sets of the parts along a dimension, of as many places each; of one place that has no dimension without lengths. */
  readonly along?: {
    readonly parts: readonly Constraint[];
    readonly dim: number;
    readonly lengths: readonly number[] | null;
  };
}

/** A bound as PyTorch prints it. */
function bound(value: Bound): string {
  return isTensor(value) ? `Tensor of shape [${value.sizes.join(', ')}]` : floatLiteral(value);
}

/** A set of numbers that is named by its bounds. */
function bounded(
  name: string,
  bounds: { readonly lower?: Bound; readonly upper?: Bound },
  check: (value: Tensor) => Tensor,
): Constraint {
  const parts = Object.entries(bounds).map(([side, value]) => `${side}_bound=${bound(value)}`);
  return { ...bounds, text: `${name}(${parts.join(', ')})`, check };
}

/** Discrete ones print whole bounds, and have no transforms onto them. */
function whole(name: string, lower: Bound, upper: Bound | null): Constraint {
  const print = (value: Bound): string => (isTensor(value) ? bound(value) : String(value));
  return {
    text: `${name}(lower_bound=${print(lower)}${upper === null ? '' : `, upper_bound=${print(upper)}`})`,
    isDiscrete: true,
    check: (x) => {
      const inside = logicalAnd(x.eq(floor(x.to('float64'))), x.ge(lower));
      return upper === null ? inside : inside.logicalAnd(x.le(upper));
    },
  };
}

/** More than `lower`. */
export function greaterThan(lower: Bound): Constraint {
  return bounded('GreaterThan', { lower }, (x) => x.gt(lower));
}
/** At least `lower`. */
export function greaterThanEq(lower: Bound): Constraint {
  return bounded('GreaterThanEq', { lower }, (x) => x.ge(lower));
}
/** Less than `upper`. */
export function lessThan(upper: Bound): Constraint {
  return bounded('LessThan', { upper }, (x) => x.lt(upper));
}
/** From `lower` to `upper`. */
export function interval(lower: Bound, upper: Bound): Constraint {
  return bounded('Interval', { lower, upper }, (x) => logicalAnd(x.ge(lower), x.le(upper)));
}
/** From `lower` to less than `upper`. */
export function halfOpenInterval(lower: Bound, upper: Bound): Constraint {
  return bounded('HalfOpenInterval', { lower, upper }, (x) => logicalAnd(x.ge(lower), x.lt(upper)));
}
/** Whole numbers from `lower` to `upper`. */
export function integerInterval(lower: Bound, upper: Bound): Constraint {
  return whole('IntegerInterval', lower, upper);
}
/** `base`, of all elements of the last `count` dimensions. */
export function independent(base: Constraint, count: number): Constraint {
  if (count === 0) return base;
  return {
    text: `IndependentConstraint(${base.text}, ${count})`,
    eventDim: (base.eventDim ?? 0) + count,
    isDiscrete: base.isDiscrete ?? false,
    each: { base, count },
    check: (x) => {
      let found = base.check(x);
      for (let i = 0; i < count; i++) found = found.all(-1);
      return found;
    },
  };
}

/** Sets of the parts of a tensor along `dim`, each of as many places as `lengths` says (1 unless given). */
export function cat(
  parts: readonly Constraint[],
  options: { readonly dim?: number; readonly lengths?: readonly number[] } = {},
): Constraint {
  const { dim = 0, lengths = parts.map(() => 1) } = options;
  return {
    text: 'Cat()',
    eventDim: Math.max(...parts.map(({ eventDim = 0 }) => eventDim)),
    isDiscrete: parts.some(({ isDiscrete }) => isDiscrete),
    along: { parts, dim, lengths },
    check: (x) =>
      catTensors(
        x.split([...lengths], dim).map((part, i) => parts[i]!.check(part)),
        dim,
      ),
  };
}

/** A set for each place along `dim`. */
export function stack(
  parts: readonly Constraint[],
  { dim = 0 }: { readonly dim?: number } = {},
): Constraint {
  const most = Math.max(...parts.map(({ eventDim = 0 }) => eventDim));
  return {
    text: 'Stack()',
    eventDim: dim + most < 0 ? most + 1 : most,
    isDiscrete: parts.some(({ isDiscrete }) => isDiscrete),
    along: { parts, dim, lengths: null },
    check: (x) =>
      stackTensors(
        parts.map(({ check }, i) => check(x.select(dim, i))),
        dim,
      ),
  };
}

export const real: Constraint = { text: 'Real()', check: (x) => x.eq(x) };
export const positive: Constraint = /* @__PURE__ */ greaterThan(0);
export const nonnegative: Constraint = /* @__PURE__ */ greaterThanEq(0);
export const unitInterval: Constraint = /* @__PURE__ */ interval(0, 1);
export const boolean: Constraint = {
  text: 'Boolean()',
  isDiscrete: true,
  check: (x) => x.eq(0).logicalOr(x.eq(1)),
};
export const nonnegativeInteger: Constraint = /* @__PURE__ */ whole('IntegerGreaterThan', 0, null);
/** Not negative, with sum 1 along the last dimension. */
export const simplex: Constraint = {
  text: 'Simplex()',
  eventDim: 1,
  check: (x) =>
    x
      .ge(0)
      .all(-1)
      .logicalAnd(abs(x.sum(-1).sub(1)).lt(1e-6)),
};
/** A one among zeros. */
export const oneHotVector: Constraint = {
  text: 'OneHot()',
  eventDim: 1,
  isDiscrete: true,
  check: (x) => boolean.check(x).all(-1).logicalAnd(x.sum(-1).eq(1)),
};
export const realVector: Constraint = /* @__PURE__ */ independent(real, 1);
/** No signs above the diagonal, a positive diagonal. */
export const lowerCholesky: Constraint = {
  text: 'LowerCholesky()',
  eventDim: 2,
  check: (x) =>
    x
      .tril()
      .eq(x)
      .all(-1)
      .all(-1)
      .logicalAnd(x.diagonal(0, -2, -1).gt(0).all(-1)),
};
/** Lower triangles with a positive diagonal and rows of length 1. */
export const corrCholesky: Constraint = {
  text: 'CorrCholesky()',
  eventDim: 2,
  check: (x) => {
    const tolerance = (x.dtype === 'float64' ? 2 ** -52 : 2 ** -23) * x.sizes.at(-1)! * 10;
    const lengths = x.square().sum(-1).sqrt();
    const isUnit = abs(lengths.sub(1)).le(tolerance).all(-1);
    return lowerCholesky.check(x).logicalAnd(isUnit);
  },
};
/** Symmetric matrices with positive eigenvalues. */
export const positiveDefinite: Constraint = {
  text: 'PositiveDefinite()',
  eventDim: 2,
  check: (x) => {
    if (x.sizes.at(-1) !== x.sizes.at(-2)) return zeros(x.sizes.slice(0, -2), { dtype: 'bool' });
    const isSymmetric = isclose(x, x.mT, { atol: 1e-6 }).all(-2).all(-1);
    return isSymmetric.logicalAnd(choleskyEx(x)[1].eq(0));
  },
};
