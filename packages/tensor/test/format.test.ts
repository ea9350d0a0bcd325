/**
 * @file Tensors print as PyTorch prints them (texts recorded from PyTorch, without the `torch.` of dtypes).
 */
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type DType, add, atan2, cdist, fromTypedArray, rand, tensor } from '../src/index.js';
import { layerNorm, maxPool2d, nllLoss } from '../src/internal.js';
import recorded from './data/printed-by-pytorch.json' with { type: 'json' };

function parse(value: number | string): number {
  return typeof value === 'number' ? value : Number(value.replace('inf', 'Infinity'));
}

describe('printing', () => {
  it.each(recorded.map((entry) => [`${entry.dtype} [${entry.shape.join(', ')}]`, entry] as const))(
    '%s',
    (_, { values, shape, dtype, text }) => {
      const value = fromTypedArray(Float64Array.from(values, parse), shape).to(dtype as DType);
      expect(value.toString()).toBe(text);
      expect(inspect(value)).toBe(text);
    },
  );

  it('shows where a value comes from', () => {
    const x = tensor([1]).requiresGrad_();
    expect(String(x)).toBe('tensor([1.], requires_grad=True)');
    expect(String(add(x, 1))).toBe('tensor([2.], grad_fn=<AddBackward0>)');
  });

  it('names backward nodes as PyTorch does', () => {
    const x = rand([2, 3], { requiresGrad: true });
    const images = x.reshape([1, 1, 2, 3]);
    const names = [
      nllLoss(x, tensor([0, 1], { dtype: 'int64' })),
      x.logSigmoid(),
      maxPool2d(images, 1),
      cdist(x, x.detach()),
      x.log1p(),
      atan2(x, x),
      x.clone().mul_(2),
      layerNorm(x, [3]),
    ].map(({ gradFn }) => gradFn!.name);
    expect(names).toEqual([
      'NllLossBackward0',
      'LogSigmoidBackward0',
      'MaxPool2DWithIndicesBackward0',
      'CdistBackward0',
      'Log1PBackward0',
      'Atan2Backward0',
      'MulBackward0',
      'NativeLayerNormBackward0',
    ]);
  });

  it('breaks the line before a suffix that does not fit', () => {
    const row = tensor(Array.from({ length: 10 }, () => 0.5)).requiresGrad_();
    expect(String(row)).toBe(
      'tensor([0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000, 0.5000,\n' +
        '        0.5000], requires_grad=True)',
    );
  });
});
