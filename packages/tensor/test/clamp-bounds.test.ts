/**
 * @file The limits of clamping: by position or by name, as PyTorch's `x.clamp(min=0)`; numbers or tensors, one at least.
 * The `@ts-expect-error` lines are checked by the type check of the package.
 */
import { isTesseraError } from '@tessera/shared';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { type Tensor, clamp, clip, tensor } from '../src/index.js';

const x = tensor([-2, 0.5, 3]);
const low = tensor([-1, 1, 0]);
const high = tensor([1, 2, 2]);

describe('bounds', () => {
  it.each<[string, Tensor, readonly number[]]>([
    ['both by position', x.clamp(0, 1), [0, 0.5, 1]],
    ['the lower by position', x.clamp(0), [0, 0.5, 3]],
    ['the upper by position', x.clamp(null, 1), [-2, 0.5, 1]],
    ['the lower by name', x.clamp({ min: 0 }), [0, 0.5, 3]],
    ['the upper by name', x.clamp({ max: 1 }), [-2, 0.5, 1]],
    ['both by name', x.clamp({ max: 1, min: 0 }), [0, 0.5, 1]],
    ['one by name, none for the other', x.clamp({ min: null, max: 1 }), [-2, 0.5, 1]],
    ['tensors by name', x.clamp({ min: low, max: high }), [-1, 1, 2]],
    ['a tensor by name', x.clamp({ max: high }), [-2, 0.5, 2]],
    ['a tensor and a number', x.clamp(low, 1), [-1, 1, 1]],
    ['of clip', x.clip({ min: 0 }), [0, 0.5, 3]],
    ['of functions', clip(clamp(x, { min: 0 }), { max: 1 }), [0, 0.5, 1]],
    ['in place', x.clone().clamp_({ min: 0 }).clip_({ max: 1 }), [0, 0.5, 1]],
  ])('%s', (_, clamped, expected) => {
    expect(clamped.toArray()).toEqual(expected);
  });

  it('have gradients by either name', () => {
    const w = x.clone().requiresGrad_();
    w.clamp({ min: 0 }).sum().backward();
    expect(w.grad!.toArray()).toEqual([0, 1, 1]);
  });
});

/** The message of what is refused. */
function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (isTesseraError(error)) return error.message;
  }
  throw new Error('It was not refused.');
}

describe('what are no bounds', () => {
  it.each<[string, () => unknown, string]>([
    // @ts-expect-error no bound
    ['none', () => x.clamp(), "At least one of 'min' or 'max' must not be None"],
    // @ts-expect-error no bound
    ['null alone', () => x.clamp(null), "At least one of 'min' or 'max' must not be None"],
    // @ts-expect-error no bound
    ['an empty object', () => x.clamp({}), "At least one of 'min' or 'max' must not be None"],
    // @ts-expect-error no such name
    ['another name', () => x.clamp({ mim: 0 }), "clamp has no option 'mim'."],
    // @ts-expect-error both forms at once
    ['a name and a position', () => x.clamp({ min: 0 }, 1), 'Given by position: min.'],
    // @ts-expect-error text
    ['text', () => x.clamp('0'), "argument 'min' must be Scalar or null, not string 0"],
  ])('%s', (_, call, message) => {
    expect(refusal(call)).toContain(message);
  });
});

it('infers tensors, of bounds that are not known to be either', () => {
  const either = x as Tensor | number;
  const open = null as number | null;
  expectTypeOf(x.clamp(either)).toEqualTypeOf<Tensor>();
  expectTypeOf(x.clamp(open, 5)).toEqualTypeOf<Tensor>();
  expectTypeOf(clip).toEqualTypeOf<typeof clamp>();
});
