import type { TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  enableGrad,
  inferenceMode,
  isGradEnabled,
  isInferenceModeEnabled,
  isInferenceTensor,
  ones,
  tensor,
} from '../src/index.js';

function codeOf(fn: () => unknown): string | null {
  try {
    fn();
    return null;
  } catch (error) {
    return (error as TesseraError).code;
  }
}

describe('inference mode', () => {
  it('makes inference tensors; views of normal tensors stay normal', () => {
    const x = ones([2, 2], { requiresGrad: true });
    const [y, view, inner] = inferenceMode(() => {
      const made = x.mul(2);
      return [made, x.t(), made.select(0, 0)];
    });
    expect([x, y!, view!, inner!].map((t) => t.isInference())).toEqual([false, true, false, true]);
    expect(isInferenceTensor(y!)).toBe(true);
    expect(y!.requiresGrad).toBe(false);
    expect(y!.clone().isInference()).toBe(false);
    expect(y!.add(1).toArray()).toEqual([
      [3, 3],
      [3, 3],
    ]);
  });

  it('keeps its tensors out of backward graphs', () => {
    const y = inferenceMode(() => ones([2]).mul(3));
    const x = tensor([1, 2], { requiresGrad: true });
    expect(() => x.mul(y)).toThrow(/Inference tensors cannot be saved for backward/);
    x.add(y).sum().backward();
    expect(x.grad!.toArray()).toEqual([1, 1]);
    x.mul(y.clone()).sum().backward();
    expect(x.grad!.toArray()).toEqual([4, 4]);
  });

  it('lets its tensors be modified inside only', () => {
    const y = inferenceMode(() => ones([2]).add_(1));
    expect(codeOf(() => y.add_(1))).toBe('inference-tensor');
    expect(() => y.add_(1)).toThrow(
      /Inplace update to inference tensor outside InferenceMode is not allowed/,
    );
    expect(() => y.requiresGrad_()).toThrow(/Setting requires_grad=True on inference tensor/);
    inferenceMode(() => y.mul_(5));
    expect(y.toArray()).toEqual([10, 10]);
  });

  it('nests, ends when a promise settles, and can be left for a while', async () => {
    expect(isInferenceModeEnabled()).toBe(false);
    await inferenceMode(async () => {
      await Promise.resolve();
      expect([isInferenceModeEnabled(), isGradEnabled()]).toEqual([true, false]);
      inferenceMode(
        () => {
          expect([isInferenceModeEnabled(), isGradEnabled()]).toEqual([false, true]);
          expect(ones([1]).add(1).isInference()).toBe(false);
        },
        { enabled: false },
      );
    });
    expect([isInferenceModeEnabled(), isGradEnabled()]).toEqual([false, true]);
    expect(enableGrad(() => isInferenceModeEnabled())).toBe(false);
    expect(() =>
      inferenceMode(() => {
        throw new Error('x');
      }),
    ).toThrow('x');
    expect(isInferenceModeEnabled()).toBe(false);
  });
});
