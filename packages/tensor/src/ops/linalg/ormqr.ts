/**
 * @file Products with the q of a QR decomposition that is not made: reflection by reflection.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES } from '../../dtype.js';
import { defineOp } from '../../op/op-overload.js';
import { sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eye } from '../factory/range.js';
import { tril } from '../indexing/triangle.js';
import { matmul } from '../matmul/composite.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { mT, unsqueeze } from '../view/dims.js';
import { narrow } from '../view/slice.js';

/** @throws shape-mismatch, dtype-mismatch, dtype-unsupported */
function check(input: Tensor, tau: Tensor, other: Tensor, left: boolean): void {
  const refuse = (message: string): never => {
    throw new TesseraError('shape-mismatch', `torch.ormqr: ${message}`, {
      hints: ['input and tau are what geqrf() gives; other is multiplied, [.., M, N].'],
    });
  };
  if (input.ndim < 2) refuse('input must have at least 2 dimensions.');
  if (other.ndim < 2) refuse('other must have at least 2 dimensions.');
  const side = left ? -2 : -1;
  const size = other.sizes.at(side)!;
  const [rows, columns] = [input.sizes.at(-2)!, input.sizes.at(-1)!];
  if (size < tau.sizes.at(-1)!)
    refuse(`other.shape[${side}] must be greater than or equal to tau.shape[-1]`);
  if (size !== rows) refuse(`other.shape[${side}] must be equal to input.shape[-2]`);
  if (tau.sizes.at(-1)! > columns)
    refuse('input.shape[-1] must be greater than or equal to tau.shape[-1]');
  if (tau.sizes.at(-1)! !== Math.min(size, columns))
    refuse(`tau.shape[-1] must be equal to min(other.shape[${side}], input.shape[-1])`);
  const counts = (what: string, a: number): string =>
    `but got ${what}.ndim equal to ${a} and input.ndim is equal to ${input.ndim}`;
  if (tau.ndim !== input.ndim - 1)
    refuse(`Expected tau to have one dimension less than input, ${counts('tau', tau.ndim)}`);
  if (other.ndim !== input.ndim)
    refuse(
      `Expected other to have the same number of dimensions as input, ${counts('other', other.ndim)}`,
    );
  const batch = input.sizes.slice(0, -2);
  const lists = { tau: tau.sizes.slice(0, -1), other: other.sizes.slice(0, -2) };
  for (const [name, sizes] of Object.entries(lists))
    if (!sameNumbers(sizes, batch))
      refuse(
        `Expected batch dimensions of ${name} to be equal to input.shape[:-2], but got [${sizes.join(', ')}]`,
      );
  for (const [name, { dtype }] of Object.entries({ tau, other }))
    if (dtype !== input.dtype)
      throw new TesseraError(
        'dtype-mismatch',
        `torch.ormqr: Expected input and ${name} to have the same dtype, but input has dtype${DTYPES[input.dtype].scalarTypeName} and ${name} has dtype ${DTYPES[dtype].scalarTypeName}`,
        { hints: ["Convert one of them: x.to('float32')."] },
      );
  if (input.dtype !== 'float32' && input.dtype !== 'float64')
    throw new TesseraError(
      'dtype-unsupported',
      `"ormqr_cpu" not implemented for '${DTYPES[input.dtype].scalarTypeName}'`,
      { hints: ["Convert first: x.to('float32')."] },
    );
}

const ormqrOp = defineOp(
  'aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor',
  {
    // Of q = (1 - τ₁ v₁ v₁ᵀ) (1 - τ₂ v₂ v₂ᵀ) …, whose factors are symmetric, so qᵀ has them in the other order.
    decompose: ({ self, input2: tau, input3: other, left, transpose }) => {
      check(self, tau, other, left);
      const k = tau.sizes.at(-1)!;
      const [m, n] = self.sizes.slice(-2);
      const { dtype, device } = self;
      const vectors = add(tril(self, -1), eye(m!, n!, { dtype, device }));
      let result = other;
      for (let step = 0; step < k; step++) {
        const i = left === transpose ? step : k - 1 - step;
        const v = narrow(vectors, -1, i, 1);
        const scaled = mul(v, unsqueeze(narrow(tau, -1, i, 1), -1));
        result = left
          ? sub(result, matmul(scaled, matmul(mT(v), result)))
          : sub(result, matmul(matmul(result, v), mT(scaled)));
      }
      return result;
    },
  },
);

/** Options of `ormqr`. */
export interface OrmqrOptions {
  /** Whether q is the left factor (default true). */
  readonly left?: boolean;
  /** Whether q is transposed (default false). */
  readonly transpose?: boolean;
}
const ORMQR: OptionNames<OrmqrOptions> = { left: true, transpose: true };

/**
 * q · other, or other · q, of the whole q, [.., M, M], of which `geqrf` gives the reflections: input [.., M, K], tau
 * [.., min(M, K)], other [.., M, N] (on the other side [.., N, M]) → the shape of other.
 *
 * @throws shape-mismatch, dtype-mismatch, dtype-unsupported
 * @see torch.ormqr
 */
export function ormqr(
  input: Tensor,
  tau: Tensor,
  other: Tensor,
  options: OrmqrOptions = {},
): Tensor {
  checkOptionNames('ormqr', options, ORMQR);
  const { left = true, transpose = false } = options;
  return callOp(ormqrOp, [input, tau, other, left, transpose]);
}
