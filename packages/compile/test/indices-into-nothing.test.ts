/**
 * @file Indices into tensors without elements: nothing could be written, and PyTorch refuses them all the same.
 */
import { type Tensor, ones, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const two = tensor([1, 0], { dtype: 'int64' });
const one = tensor([3], { dtype: 'int64' });
const none = tensor([], { dtype: 'int64' });

const WRITES: Readonly<Record<string, (x: Tensor, at: Tensor, from: Tensor) => Tensor>> = {
  scatter: (x, at, from) => x.scatter(0, at, from),
  'scatter of a number': (x, at) => x.scatter(0, at, 2),
  scatterAdd: (x, at, from) => x.scatterAdd(0, at, from),
  scatterReduce: (x, at, from) => x.scatterReduce(0, at, from, 'amax'),
  indexAdd: (x, at, from) => x.indexAdd(0, at, from),
  indexCopy: (x, at, from) => x.indexCopy(0, at, from),
  indexPut: (x, at, from) => x.indexPut([at], from),
  indexFill: (x, at) => x.indexFill(0, at, 1),
};

describe.each(Object.entries(WRITES))('%s', (_name, write) => {
  it.each(['reference', 'inductor'] as const)('is refused in eager mode (%s)', (kernels) => {
    config.patch({ 'eager.kernels': kernels }, () => {
      for (const at of [one, two])
        expect(() => write(zeros([0]), at, ones(at.sizes))).toThrow(/out of bounds|index/);
      expect(write(zeros([0]), none, ones([0])).sizes).toEqual([0]);
    });
  });

  it('is refused when compiled, result or not', () => {
    for (const at of [one, two]) {
      const from = ones(at.sizes);
      const used = compile((x: Tensor) => write(x, at, from));
      const dropped = compile((x: Tensor) => {
        write(x, at, from);
        return x.add(1);
      });
      expect(() => used(zeros([0]))).toThrow(/out of bounds|index/);
      expect(() => dropped(zeros([0]))).toThrow(/out of bounds|index/);
    }
    const nothing = compile((x: Tensor) => write(x, none, ones([0])));
    expect(nothing(zeros([0])).sizes).toEqual([0]);
  });
});
