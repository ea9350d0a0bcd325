/**
 * @file Labels of all samples in one row, for `ctcLoss`: numbers of PyTorch 2.13, and what is read of them.
 */
import { type Tensor, arange, logSoftmax, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { functional as F } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { thrownBy } from './thrown-by.js';

const scores = arange(48).mul(0.7).sin().reshape([6, 2, 4]);
const labels = tensor([1, 2, 3], { dtype: 'int64' });
const expected = [5.13425874710083, 4.126865386962891];

function loss(x: Tensor, targets: Tensor): Tensor {
  return F.ctcLoss(logSoftmax(x, 2), targets, [6, 5], [2, 1], { reduction: 'none' });
}

it.each([
  ['of 64 bits', labels],
  ['of 32 bits', labels.to('int32')],
])('labels %s', (_name, targets) => {
  (loss(scores, targets).toArray() as number[]).forEach((value, i) =>
    expect(value).toBeCloseTo(expected[i]!, 5),
  );
});

it('labels are not read where their numbers are numbers: a compiled loss is one graph', () => {
  const { call, graphs } = compileForTest((x: Tensor, next: Tensor) => loss(x, next.sub(1)));
  (call(scores, labels.add(1)).toArray() as number[]).forEach((value, i) =>
    expect(value).toBeCloseTo(expected[i]!, 5),
  );
  call(scores, tensor([4, 2, 2], { dtype: 'int64' }));
  expect(graphs).toHaveLength(1);
});

it('lengths may be a tensor', () => {
  const lengths = tensor([2, 1], { dtype: 'int64' });
  const losses = F.ctcLoss(logSoftmax(scores, 2), labels, [6, 5], lengths, { reduction: 'none' });
  (losses.toArray() as number[]).forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 5));
});

it('samples without any label', () => {
  const none = tensor([], { dtype: 'int64' });
  const losses = F.ctcLoss(logSoftmax(scores, 2), none, [6, 6], [0, 0], { reduction: 'none' });
  expect(losses.sizes).toEqual([2]);
});

it('as many labels as the lengths say', () => {
  expect(
    thrownBy(() => F.ctcLoss(logSoftmax(scores, 2), labels, [6, 6], [2, 2])).message,
  ).toContain('Expected tensor to have size 4 at dimension 0, but got size 3 for the targets');
});
