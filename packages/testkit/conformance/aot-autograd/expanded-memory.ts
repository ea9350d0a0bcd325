/**
 * @file Rows about in-place ops on expanded tensors, several elements of which are one place in memory.
 */
import { compile } from '@tessera/compile';
import { type Tensor, arange } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose } from '../../src/index.js';

/** Adding to one element of an expanded view changes it in every copy, and in what was expanded. */
export function expandMutationFunctionalizes(): void {
  const fn = (x: Tensor): Tensor => {
    const y = x.expand([3, ...x.shape]);
    y.select(0, 0).select(0, 0).add_(5);
    return y;
  };
  const x = arange(6);
  const copy = x.clone();
  assertClose(compile(fn, { backend: 'aot_eager' })(copy), fn(x));
  assertClose(copy, x);
  expect(x.toArray()).toEqual([5, 1, 2, 3, 4, 5]);
}

/** The same with a product behind it, through which gradients flow. */
export function expandMutationBackwards(): void {
  const fn = (x: Tensor, z: Tensor): Tensor => {
    const y = x.expand([3, ...x.shape]);
    y.select(0, 1).select(0, 1).mul_(5);
    return y.mul(z);
  };
  const x = arange(6, { dtype: 'float32' });
  const z = x.clone().requiresGrad_();
  const copyX = x.clone();
  const copyZ = x.clone().requiresGrad_();
  const expected = fn(x, z);
  const actual = compile(fn, { backend: 'aot_eager' })(copyX, copyZ);
  assertClose(actual, expected);
  expected.sum().backward();
  actual.sum().backward();
  assertClose(copyX, x);
  assertClose(copyZ.grad!, z.grad!);
  expect(x.toArray()).toEqual([0, 5, 2, 3, 4, 5]);
}

/** In-place over elements that share memory is refused, compiled as in eager. */
export function expandMutationError(): void {
  const fn = (x: Tensor): Tensor => {
    const y = x.expand([3, ...x.shape]);
    y.slice(0, 0, 3).select(1, 0).add_(5);
    return y;
  };
  const message = /single memory location/;
  expect(() => fn(arange(6))).toThrow(message);
  const x = arange(6);
  expect(() => compile(fn, { backend: 'aot_eager' })(x)).toThrow(message);
  expect(x.toArray()).toEqual([0, 1, 2, 3, 4, 5]);
}
