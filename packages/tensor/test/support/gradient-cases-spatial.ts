/**
 * @file Calls of attention, losses and spatial operators whose derivatives are checked.
 */
import { type Tensor, fromTypedArray, scaledDotProductAttention } from '../../src/index.js';
import type { Differentiable } from './gradient-check.js';

/** Distinct values away from 0 and from integers, so that kinks are not near. */
function values(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from(
      { length: count },
      (_, i) => (((i * 7919) % 97) / 97 - 0.45) * 2.6 + 0.013 * i,
    ),
    sizes,
  );
}

/** Name, function, inputs. */
export const spatialCases: readonly (readonly [string, Differentiable, readonly Tensor[]])[] = [
  [
    'attention',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!),
    [values(1, 2, 2, 2), values(1, 2, 3, 2), values(1, 2, 3, 2).flip(2)],
  ],
  [
    'causal attention with shared heads',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!, { isCausal: true, enableGqa: true }),
    [values(1, 2, 2, 2), values(1, 1, 2, 2), values(1, 1, 2, 2).flip(3)],
  ],
  [
    'attention that keeps its scores, with a mask',
    (q, k, v, mask) => scaledDotProductAttention(q!, k!, v!, { attnMask: mask! }),
    [values(2, 2, 2), values(2, 3, 2), values(2, 3, 2).flip(2), values(2, 3)],
  ],
];
