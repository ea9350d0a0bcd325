/**
 * @file Similarity and distance of vectors are those of `@tessera/tensor`; values are PyTorch 2.13's.
 */
import { cosineSimilarity, pairwiseDistance, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { functional as F } from '../src/index.js';

it('the derivative of a length ignores the limit below which it is not divided by', () => {
  const x = tensor([
    [0, 0],
    [3e-3, 4e-3],
  ]).requiresGrad_();
  const y = tensor([
    [1, 2],
    [2, 1],
  ]);
  const cosines = F.cosineSimilarity(x, y, { eps: 0.01 });
  cosines.sum().backward();
  const expected = [44.7214, 89.4427, 62.6099, 8.9443];
  for (const [i, value] of (x.grad!.flatten().toArray() as number[]).entries())
    expect(value).toBeCloseTo(expected[i]!, 3);
  expect((cosines.toArray() as number[])[1]).toBeCloseTo(0.4472, 4);
});

it('types are promoted', () => {
  const [x, y] = [tensor([[1, 2]]), tensor([[2, 1]], { dtype: 'float64' })];
  expect(F.cosineSimilarity(x, y).dtype).toBe('float64');
  expect(F.cosineSimilarity(x, y).item()).toBeCloseTo(0.8, 7);
});

it('there is one of each', () => {
  expect(F.cosineSimilarity).toBe(cosineSimilarity);
  expect(F.pairwiseDistance).toBe(pairwiseDistance);
});
