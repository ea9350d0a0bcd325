/**
 * @file What functions of elements refuse, in PyTorch's words.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { ones, polygamma, tensor, zeros } from '../src/index.js';
import { huberLoss } from '../src/internal.js';

const long = (...data: number[]) => tensor(data, { dtype: 'int64' });

const cases: [what: string, call: () => unknown, code: string, message: RegExp][] = [
  ['gcd of floats', () => ones([2]).gcd(ones([2])), 'dtype-unsupported', /"gcd" not implemented/],
  [
    'shifts of bools',
    () => tensor([true]).bitwiseLeftShift(tensor([true])),
    'dtype-unsupported',
    /"bitwise_left_shift" not implemented for 'bool'/,
  ],
  [
    'a fraction as alpha beside integers',
    () => long(1).add(long(2), { alpha: 0.5 }),
    'dtype-mismatch',
    /For integral input tensors, argument alpha must not be a floating point number/,
  ],
  [
    'a bool as alpha beside numbers',
    () => ones([1]).sub_(ones([1]), { alpha: true }),
    'dtype-mismatch',
    /Boolean alpha only supported for Boolean results/,
  ],
  [
    'lerp of two dtypes',
    () => ones([1]).lerp(ones([1], { dtype: 'float64' }), 0.5),
    'dtype-mismatch',
    /expected dtype float32 for `end` but got dtype float64/,
  ],
  [
    'lerp by a weight of another dtype',
    () => ones([1]).lerp(ones([1]), ones([1], { dtype: 'float16' })),
    'dtype-mismatch',
    /expected dtype float32 for `weight` but got dtype float16/,
  ],
  [
    'huber loss without a parabola',
    () => huberLoss(ones([1]), ones([1]), { delta: 0 }),
    'invalid-argument',
    /does not support non-positive values for delta/,
  ],
  [
    'a value per element for maskedFill',
    () => ones([1]).maskedFill(tensor(true), ones([1])),
    'shape-mismatch',
    /only supports a 0-dimensional value tensor, but got tensor with 1 dimension/,
  ],
  ['frexp of integers', () => long(1).frexp(), 'dtype-unsupported', /"frexp"/],
  ['hypot of integers', () => long(1).hypot(long(2)), 'dtype-unsupported', /"hypot"/],
  ['frac of integers', () => long(1).frac(), 'dtype-unsupported', /"frac"/],
  ['decimals of integers', () => long(1).round({ decimals: 1 }), 'dtype-unsupported', /"round"/],
  [
    'heaviside of two dtypes',
    () => ones([2]).heaviside(long(1, 2)),
    'dtype-mismatch',
    /not yet implemented for tensors with different dtypes/,
  ],
  ['isclose of two dtypes', () => ones([1]).isclose(long(1)), 'dtype-mismatch', /did not match/],
  [
    'a negative tolerance',
    () => ones([1]).isclose(ones([1]), { rtol: -1 }),
    'invalid-argument',
    /rtol must be greater than or equal to zero, but got -1/,
  ],
  [
    'float_power_ of float32',
    () => ones([1]).floatPower_(2),
    'dtype-mismatch',
    /result requires dtype float64/,
  ],
  ['+ of bools', () => tensor([true]).positive(), 'dtype-unsupported', /`\+` operator/],
  [
    'celu with alpha 0',
    () => ones([1]).celu({ alpha: 0 }),
    'invalid-argument',
    /alpha cannot be 0/,
  ],
  [
    'softshrink with a negative width',
    () => ones([1]).softshrink({ lambd: -1 }),
    'invalid-argument',
    /lambda must be greater or equal to 0, but found to be -1/,
  ],
  [
    'glu of an odd size',
    () => ones([2, 3]).glu(),
    'invalid-argument',
    /Halving dimension must be even, but dimension 1 is size 3/,
  ],
  [
    'prelu with slopes for other channels',
    () => ones([2, 3]).prelu(zeros([4])),
    'invalid-argument',
    /Found parameter numbers = 4, and channel size = 3/,
  ],
  [
    'prelu with slopes of another dtype',
    () => ones([2, 3]).prelu(long(1)),
    'dtype-mismatch',
    /Type promoting not supported/,
  ],
  ['polygamma of negative order', () => polygamma(-1, ones([1])), 'invalid-argument', /negative n/],
  [
    'an in-place result that its dtype cannot hold',
    () => long(1).acos_(),
    'dtype-mismatch',
    /can't be cast/,
  ],
];

describe('functions of elements refuse', () => {
  it.each(cases)('%s', (_what, call, code, message) => {
    let thrown: unknown;
    try {
      call();
    } catch (error) {
      thrown = error;
    }
    expect(isTesseraError(thrown, code as never)).toBe(true);
    expect((thrown as Error).message).toMatch(message);
  });
});
