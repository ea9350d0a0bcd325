/**
 * @file A normal distribution cut off on both sides.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { type Tensor, noGrad } from '@tessera/tensor';
import { add_, clamp_, uniform_ as drawUniform, erfinv_, mul_ } from '@tessera/tensor/internal';

/** Options of `truncNormal_`. */
export interface TruncNormalOptions {
  /** Default 0. */
  readonly mean?: number;
  /** Default 1. */
  readonly std?: number;
  /** Smallest value (default -2). */
  readonly a?: number;
  /** Largest value (default 2). */
  readonly b?: number;
}
const TRUNC_NORMAL: OptionNames<TruncNormalOptions> = { mean: true, std: true, a: true, b: true };

/** erf, to 1e-7 (Abramowitz and Stegun 7.1.26), for the share of the distribution below a bound. */
function erf(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const series =
    t *
    (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return Math.sign(x) * (1 - series * Math.exp(-x * x));
}

/** Normal values within [a, b]. @see torch.nn.init.trunc_normal_ */
export function truncNormal_(tensor: Tensor, options: TruncNormalOptions = {}): Tensor {
  checkOptionNames('truncNormal_', options, TRUNC_NORMAL);
  const { mean = 0, std = 1, a = -2, b = 2 } = options;
  const bound = (limit: number): number => erf((limit - mean) / (std * Math.SQRT2));
  return noGrad(() => {
    // Uniform over the values that the distribution function takes within the bounds, then its inverse.
    drawUniform(tensor, bound(a), bound(b));
    erfinv_(tensor);
    mul_(tensor, std * Math.SQRT2);
    add_(tensor, mean);
    return clamp_(tensor, a, b);
  });
}
