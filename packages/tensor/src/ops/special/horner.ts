/** @file Polynomials of tensors with given coefficients. */
import type { ScalarLike } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { div } from '../pointwise/division.js';

/** c₀xⁿ⁻¹ + c₁xⁿ⁻² + … + cₙ₋₁, of at least two coefficients. */
export function horner(x: Tensor, coefficients: readonly number[]): Tensor {
  const [first, second, ...rest] = coefficients;
  return rest.reduce((sum, c) => add(mul(sum, x), c), add(mul(x, first!), second!));
}

/** c₀/2 + c₁T₁(t) + c₂T₂(t) + …, of at least three, by Clenshaw's recurrence. */
export function chebyshevSum(t: Tensor, coefficients: readonly number[]): Tensor {
  const twice = mul(t, 2);
  const last = coefficients.length - 1;
  let later: Tensor | ScalarLike = coefficients[last]!;
  let sum = add(mul(twice, later), coefficients[last - 1]!);
  for (let k = last - 2; k >= 1; k--)
    [later, sum] = [sum, add(sub(mul(twice, sum), later), coefficients[k]!)];
  return add(sub(mul(t, sum), later), coefficients[0]! / 2);
}

/** The quotient of two polynomials. */
export function quotient(
  x: Tensor,
  [above, below]: readonly [above: readonly number[], below: readonly number[]],
): Tensor {
  return div(horner(x, above), horner(x, below));
}
