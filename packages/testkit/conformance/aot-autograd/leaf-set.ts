/**
 * @file The row about replacing the memory of a leaf.
 */
import { compile } from '@tessera/compile';
import { type Tensor, ones } from '@tessera/tensor';
import { expect } from 'vitest';

/** `set_` on a leaf that requires grad is refused, and leaves it as it was. */
export function setOfLeaf(): void {
  const fn = (x: Tensor): void => {
    x.set_(ones([2]));
  };
  const x = ones([2]).requiresGrad_();
  const { storage } = x;
  expect(() => fn(x)).toThrow(/is being used in an in-place operation/);
  expect(() => compile(fn)(x)).toThrow(/is being used in an in-place operation/);
  expect(x.storage).toBe(storage);
}
