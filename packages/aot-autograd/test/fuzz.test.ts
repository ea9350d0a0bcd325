/**
 * @file Random programs of views, in-place updates and arithmetic, compiled and eager: results, modified
 * inputs and gradients must agree.
 */
import { isTesseraError } from '@tessera/shared';
import { type Tensor, noGrad } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type InputSpec, compare, op, overlapping } from './support/compare.js';

/** A small deterministic generator. */
function random(seed: number): (n: number) => number {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % n;
  };
}

const VIEWS: readonly ((t: Tensor, pick: (n: number) => number) => Tensor)[] = [
  (t) => op('detach', t),
  (t) => t.permute(t.sizes.map((_, i) => t.ndim - 1 - i)),
  (t) => t.reshape([-1]),
  (t) => op('unsqueeze', t, 0),
  (t, pick) => (t.ndim === 0 ? t : op('select.int', t, pick(t.ndim), 0)),
  (t, pick) => {
    if (t.ndim === 0) return t;
    const dim = pick(t.ndim);
    return op('slice.Tensor', t, dim, pick(2), t.sizes[dim], 1 + pick(2));
  },
  (t) => (t.ndim === 0 ? t : (op('tensor_split.sections', t, 2, 0) as unknown as Tensor[])[0]!),
];

const IN_PLACE: readonly ((t: Tensor, other: Tensor) => unknown)[] = [
  (t) => t.mul_(1.5),
  (t) => t.add_(1),
  (t, other) => t.add_(other),
  (t, other) => t.mul_(other),
  (t, other) => t.copy_(other),
  (t) => op('fill_.Scalar', t, 0.5),
  (t) => noGrad(() => t.mul_(0.5)),
];

const PURE: readonly ((a: Tensor, b: Tensor) => Tensor)[] = [
  (a) => a.mul(2),
  (a, b) => a.mul(b),
  (a, b) => a.add(b),
  (a) => op('sin', a),
  (a) => a.sum(),
  (a) => a.clone(),
];

/** A program drawn from a seed. */
function program(seed: number): (...inputs: Tensor[]) => unknown[] {
  return (...inputs) => {
    const pick = random(seed);
    const pool = [...inputs];
    const any = (): Tensor => pool[pick(pool.length)];
    for (let step = 0; step < 8; step++) {
      const kind = pick(10);
      if (kind < 4) pool.push(VIEWS[pick(VIEWS.length)](any(), pick));
      else if (kind < 7) {
        const target = any();
        const other = any();
        // A scalar fits everywhere; other shapes only if they are the same.
        const fits = other.sizes.join() === target.sizes.join();
        IN_PLACE[pick(IN_PLACE.length)](target, fits ? other : op('sum', other, null));
      } else {
        const a = any();
        const b = any();
        PURE[pick(PURE.length)](a, a.sizes.join() === b.sizes.join() ? b : op('sum', b, null));
        pool.push(
          PURE[pick(PURE.length)](a, a.sizes.join() === b.sizes.join() ? b : op('sum', b, null)),
        );
      }
    }
    return pool.slice(-1 - pick(4)).filter((value) => !inputs.includes(value));
  };
}

function inputsOf(seed: number): InputSpec[] {
  const pick = random(seed + 7919);
  return Array.from({ length: 1 + pick(3) }, (_, k) => {
    const grad = pick(2) === 0;
    return {
      data: Array.from({ length: 2 }, (__, i) =>
        Array.from({ length: 3 }, (___, j) => (i * 3 + j + 1 + k) / 4),
      ),
      grad,
      leaf: !grad,
    };
  });
}

/** Errors that eager gives too, or programs that are refused: not every random program is valid. */
const INVALID = [
  'inplace-version',
  'inplace-leaf',
  'inplace-overlap',
  'shape-mismatch',
  'dtype-mismatch',
  'aot-unsupported',
] as const;

/** Compares programs of seeds; returns how many were valid. */
function compareAll(
  first: number,
  inputs: (seed: number) => Parameters<typeof compare>[1],
): number {
  let compared = 0;
  for (let seed = first; seed < first + 50; seed++) {
    try {
      compare(program(seed), inputs(seed));
      compared++;
    } catch (error) {
      if (INVALID.some((code) => isTesseraError(error, code))) continue;
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
  return compared;
}

describe('random programs', () => {
  it.each(Array.from({ length: 16 }, (_, i) => i))('on inputs of their own: batch %i', (batch) => {
    expect(compareAll(batch * 50, inputsOf)).toBeGreaterThan(20);
  });

  it.each(Array.from({ length: 8 }, (_, i) => i))('on inputs that overlap: batch %i', (batch) => {
    expect(compareAll(batch * 50, () => overlapping(3))).toBeGreaterThan(20);
  });
});
