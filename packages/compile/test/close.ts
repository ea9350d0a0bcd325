/** @file Comparing a tensor with numbers, for tests. */
import { type Tensor, isclose, tensor } from '@tessera/tensor';
import { expect } from 'vitest';

export function close(actual: Tensor, expected: unknown): void {
  const other = tensor(expected as number[], { dtype: 'float32' });
  expect(actual.sizes).toEqual(other.sizes);
  expect(
    isclose(actual.detach(), other, { rtol: 1e-4, atol: 1e-5 }).all().item(),
    `${actual}\n${other}`,
  ).toBe(1);
}
