/**
 * @file Whole numbers too large for an int64, as masks use them, in eager kernels made by inductor.
 */
import { describe, expect, it } from 'vitest';
import { config, compile } from '../src/index.js';
import { type Tensor, maskedFill, ones, tensor, where } from '@tessera/tensor';
import { constantPad } from '@tessera/tensor/internal';

const mask = tensor([true, false]);
const lowest = Math.fround(-1e30);
const cases: [string, (x: Tensor) => Tensor, number[]][] = [
  ['maskedFill', (x) => maskedFill(x, mask, -1e30), [lowest, 1]],
  ['where', (x) => where(mask, x, -1e30), [1, lowest]],
  ['constantPad', (x) => constantPad(x, [1, 0], -1e30), [lowest, 1, 1]],
  ['mul', (x) => x.mul(-1e30), [lowest, lowest]],
];

describe.each(cases)('%s with -1e30', (_, fn, expected) => {
  it('keeps the number, eager and compiled', () => {
    for (const kernels of ['reference', 'inductor'] as const)
      config.patch({ 'eager.kernels': kernels }, () => {
        expect(fn(ones([2])).toArray(), kernels).toEqual(expected);
        expect(compile(fn)(ones([2])).toArray(), `compiled, ${kernels}`).toEqual(expected);
      });
  });
});
