/**
 * @file Backward operators refuse gradients and counts that do not fit, by their meta rules: compiled code, which has no
 * other checks, would read beyond what there is.
 */
import { describe, expect, it } from 'vitest';
import { callOp, getOp, ones, zeros } from '../src/index.js';
import { withFakeTensors } from '../src/internal.js';

const ALL = [true, true, true];
const labels = (...sizes: number[]): unknown => zeros(sizes, { dtype: 'int64' });

const CALLS: Readonly<Record<string, readonly [name: string, ...args: unknown[]]>> = {
  'a convolution, channels': [
    'convolution_backward',
    ones([1, 2, 8]),
    ones([1, 1, 8]),
    ones([2, 2, 1]),
    null,
    ...[[1], [0], [1], false, [0], 1, ALL],
  ],
  'a convolution, length of the gradient': [
    'convolution_backward',
    ones([1, 1, 12]),
    ones([1, 1, 4]),
    ones([1, 1, 4]),
    null,
    ...[[3], [1], [2], true, [1], 1, ALL],
  ],
  'nll_loss, of single losses': [
    'nll_loss_backward',
    ...[ones([]), ones([2, 3]), labels(2), null, 0, -100, ones([])],
  ],
  'nll_loss2d, of their mean': [
    'nll_loss2d_backward',
    ...[ones([2, 1, 2]), ones([2, 3, 1, 2]), labels(2, 1, 2), null, 1, -100, ones([])],
  ],
  embedding: ['embedding_dense_backward', ones([]), labels(1), 10, -1, false],
  'layer norm, weight': [
    'native_layer_norm_backward',
    ...[ones([2, 3]), ones([2, 3]), [3], ones([2, 1]), ones([2, 1]), ones([]), null, ALL],
  ],
  'group norm, N': [
    'native_group_norm',
    ...[ones([2, 6, 3]), ones([6]), ones([6]), 3, 6, 3, 2, 1e-5],
  ],
  'group norm, groups': [
    'native_group_norm',
    ...[ones([2, 6, 3]), ones([6]), ones([6]), 2, 6, 3, 4, 1e-5],
  ],
  'group norm, groups of the gradient': [
    'native_group_norm_backward',
    ...[ones([1, 2]), ones([1, 2]), ones([1, 1]), ones([1, 1]), null, 1, 2, 1, 2, ALL],
  ],
  'group norm, HxW of the gradient': [
    'native_group_norm_backward',
    ...[ones([1, 2]), ones([1, 2]), ones([1, 1]), ones([1, 1]), null, 1, 2, 2, 1, ALL],
  ],
};

describe('what does not fit is refused', () => {
  it.each(Object.entries(CALLS))('by %s', (_, [name, ...args]) => {
    const refusal = expect.objectContaining({ code: 'shape-mismatch' }) as Error;
    const call = (): unknown => callOp(getOp(`aten::${name}`), args);
    expect(call).toThrow(refusal);
    expect(() => withFakeTensors(call)).toThrow(refusal);
  });
});
