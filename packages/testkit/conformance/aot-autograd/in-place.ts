/**
 * @file Rows about in-place ops: on leaves, on slices of inputs and of intermediates.
 */
import { compile } from '@tessera/compile';
import { Parameter } from '@tessera/nn';
import { type Tensor, manualSeed, noGrad, randn, setGradEnabled, slice } from '@tessera/tensor';
import { expect } from 'vitest';
import { assertClose } from '../../src/index.js';

/** An in-place add to a leaf parameter under no-grad is no error, and is seen. */
export function addsToLeafUnderNoGrad(): void {
  manualSeed(1);
  const fn = (param: Tensor, y: Tensor): Tensor => {
    setGradEnabled(false);
    try {
      param.add_(y);
    } finally {
      setGradEnabled(true);
    }
    return y;
  };
  const y = randn([4]);
  const param = new Parameter(randn([4]));
  const before = param.detach().clone();
  const compiled = compile(fn, { backend: 'aot_eager' });
  expect(compiled(param, y)).toBe(y);
  assertClose(param.detach(), before.add(y));
  expect(param.isLeaf).toBe(true);
  expect(param.requiresGrad).toBe(true);
  compiled(param, y);
  assertClose(param.detach(), before.add(y).add(y));
}

/** `x[:, :-1, :, 256:] = y[:, :, :256, :257]`. */
function assignDiagonalBlock(stack: Tensor, scores: Tensor): Tensor {
  const block = slice(slice(scores, 2, 0, 256), 3, 0, 257);
  slice(slice(stack, 1, 0, -1), 3, 256).copy_(block);
  return stack.view([1, 12, 1024, 513]);
}

/** A slice of an input is assigned: the caller's tensor changes, the result is a view of it. */
export function assignsSliceOfInput(): void {
  manualSeed(2);
  const x = randn([12, 4, 256, 513]);
  const y = randn([12, 3, 512, 513]);
  const expectedX = x.clone();
  const expected = assignDiagonalBlock(expectedX, y);
  const result = compile(assignDiagonalBlock, { backend: 'aot_eager' })(x, y);
  assertClose(result, expected);
  assertClose(x, expectedX);
  expect(result.storage).toBe(x.storage);
}

/** A slice of an intermediate is assigned: the input keeps its values. */
export function assignsSliceOfIntermediate(): void {
  manualSeed(3);
  const fn = (stack: Tensor, scores: Tensor): Tensor => assignDiagonalBlock(stack.sin(), scores);
  const x = randn([12, 4, 256, 513]);
  const y = randn([12, 3, 512, 513]);
  const before = x.clone();
  const expected = noGrad(() => fn(x, y));
  assertClose(compile(fn, { backend: 'aot_eager' })(x, y), expected);
  assertClose(x, before);
}

/** An in-place op on an intermediate. */
export function addsToSine(): void {
  manualSeed(4);
  const fn = (x: Tensor, y: Tensor): Tensor => x.sin().add_(y);
  const x = randn([4]);
  const y = randn([4]);
  assertClose(compile(fn, { backend: 'aot_eager' })(x, y), x.sin().add(y));
}
