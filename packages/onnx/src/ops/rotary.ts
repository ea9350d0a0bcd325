/**
 * @file Rotary position embeddings.
 */
import { type Tensor, cat, index, stack } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { joinHeads, splitHeads } from './attention.js';

/** Options of `rotate`. */
export interface Rotation {
  /** [B, L, R / 2] or [L, R / 2] */
  readonly cos: Tensor;
  readonly sin: Tensor;
  /** Whether pairs stand beside each other, not half a vector apart. */
  readonly interleaved: boolean;
}

/** Turns the first 2 · (R / 2) elements of each vector of [B, heads, L, E] by angles. */
export function rotate(x: Tensor, { cos, sin, interleaved }: Rotation): Tensor {
  const half = cos.shape.at(-1)!;
  const width = x.shape.at(-1)!;
  // Heads share the angles.
  const [c, s] = [cos, sin].map((part) => (part.ndim === 3 ? part.unsqueeze(1) : part));
  const turned = x.narrow(-1, 0, 2 * half);
  const pairs = interleaved ? turned.unflatten(-1, [half, 2]) : turned;
  const [a, b] = interleaved
    ? [pairs.select(-1, 0), pairs.select(-1, 1)]
    : [pairs.narrow(-1, 0, half), pairs.narrow(-1, half, half)];
  const real = a.mul(c).sub(b.mul(s));
  const imaginary = a.mul(s).add(b.mul(c));
  const result = interleaved
    ? stack([real, imaginary], -1).flatten(-2)
    : cat([real, imaginary], -1);
  return 2 * half === width ? result : cat([result, x.narrow(-1, 2 * half, width - 2 * half)], -1);
}

/** Rows of a cache of angles at positions. */
export function anglesAt(cache: Tensor, positions: Tensor | null): Tensor {
  return positions === null ? cache : index(cache, positions.to('int64'));
}

function rotaryEmbedding(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const isFlat = x.ndim === 3;
  const heads = call.int('num_heads', 0);
  const split = isFlat ? splitHeads(x, heads) : x;
  const positions = call.optional(3);
  const y = rotate(split, {
    cos: anglesAt(call.tensor(1), positions),
    sin: anglesAt(call.tensor(2), positions),
    interleaved: call.flag('interleaved'),
  });
  return isFlat ? joinHeads(y) : y;
}

/** Operators of the standard domain. */
export const rotary: OperatorTable = { RotaryEmbedding: rotaryEmbedding };
