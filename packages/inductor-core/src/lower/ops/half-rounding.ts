/**
 * @file Rounding to 16-bit floats within a formula, for operators that PyTorch computes step by step in
 * that precision. Elsewhere 16-bit values stay in f32 until they are stored.
 *
 * @see T. J. Dekker, A floating-point technique for extending the available precision (the split)
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { ExprMath } from '../expr-math.js';

/** Factor that leaves a type's significand in the upper part of the split, and where the type overflows. */
const FORMATS: Readonly<
  Partial<Record<DType, { readonly factor: number; readonly overflow: number }>>
> = {
  float16: { factor: 2 ** 13 + 1, overflow: 65520 },
  bfloat16: { factor: 2 ** 16 + 1, overflow: 3.3961775292304957e38 },
};

/** A value as its own type holds it; wider types are exact already. Subnormal results keep too many digits. */
export function roundHalf(m: ExprMath, x: Expr): Expr {
  const format = FORMATS[x.dtype];
  if (format === undefined) return x;
  const size = m.abs(x);
  const product = m.mul(size, format.factor);
  const rounded = m.sub(product, m.sub(product, size));
  // The product of large values overflows; of those only the limit matters.
  const isLarge = m.gt(size, 2 ** 100);
  const bounded = m.where(m.ge(size, format.overflow), Infinity, m.where(isLarge, size, rounded));
  return m.copysign(bounded, x);
}
