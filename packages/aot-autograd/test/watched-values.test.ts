/**
 * @file Saved values that others modify although eager autograd does not keep them.
 */
import { type Tensor, noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { aotFunction, minCutRematerializationPartition, runEagerly } from '../src/index.js';

const makers: Record<string, () => Tensor> = {
  'a plain tensor': () =>
    tensor([
      [1, 5, 3],
      [4, 2, 6],
    ]),
  'a transposed tensor': () =>
    tensor([
      [1, 4],
      [5, 2],
      [3, 6],
    ]).t(),
  'an expanded tensor': () => tensor([[1, 5, 3]]).expand([2, 3]),
  'overlapping windows': () => tensor([1, 5, 3, 6]).unfold(0, 3, 1),
};

const changes: Record<string, (x: Tensor) => void> = {
  'is laid out anew': (x) => void x.transpose_(0, 1),
  'gets another dimension': (x) => void x.unsqueeze_(0),
  'is modified through its memory': (x) => void ((x.base ?? x) as Tensor).mul_(2),
};

describe.each(Object.entries(makers))('%s whose converted copy eager saves', (_, make) => {
  it.each(Object.entries(changes))('%s before backward', (_, change) => {
    const fn = (x: Tensor, w: Tensor): Tensor => x.to('float64').mul(w);
    const compiled = aotFunction(fn, {
      fwCompiler: runEagerly,
      partitionFn: minCutRematerializationPartition,
    });
    const gradients = [fn, compiled].map((run) => {
      const x = make();
      const w = tensor([2, 3, 4], { dtype: 'float64' }).requiresGrad_();
      const y = run(x, w);
      noGrad(() => change(x));
      y.sum().backward();
      return w.grad!.toArray();
    });
    expect(gradients[1]).toEqual(gradients[0]);
  });
});
