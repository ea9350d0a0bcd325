/**
 * @file Sums with products keep the layout that they have in eager mode: a product that takes the sum into itself would
 * lie row by row, and views that were recorded of the sum would read it at the wrong places.
 */
import { type Tensor, bmm, manualSeed, randn } from '@tessera/tensor';
import { grad } from '@tessera/tensor/func';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';
import { close } from './close.js';

const batch = (x: Tensor): Tensor => x.unsqueeze(0);

describe('a sum of a transposed tensor and a product', () => {
  it.each<[name: string, sum: (x: Tensor, w: Tensor, c: Tensor) => Tensor]>([
    ['mm', (x, w, c) => c.t().add(x.mm(w))],
    ['mm behind a factor', (x, w, c) => c.t().add(x.mm(w).mul(0.5))],
    [
      'bmm',
      (x, w, c) =>
        batch(c.t())
          .add(batch(x).bmm(batch(w)))
          .squeeze(0),
    ],
  ])('%s: has the strides of eager mode, and views of it', (_, sum) => {
    const fn = (x: Tensor, w: Tensor, c: Tensor): Tensor[] => {
      const result = sum(x, w, c);
      return [result, result.t().view([12])];
    };
    const args = [randn([3, 5]), randn([5, 4]), randn([4, 3])] as const;
    const [whole, view] = compile(fn)(...args);
    const [expected, expectedView] = fn(...args);
    expect(whole!.stride()).toEqual([1, 3]);
    close(whole!, expected!.toArray());
    close(view!, expectedView!.toArray());
  });

  it('has the third derivatives of eager mode', () => {
    manualSeed(0);
    const product = (x: Tensor): Tensor => bmm(batch(x), batch(x.cos()).transpose(1, 2));
    const first = grad((x: Tensor) => product(x).square().sum());
    const second = grad((x: Tensor) => first(x).square().sum());
    const [start, weight] = [
      randn([3, 3], { dtype: 'float64' }),
      randn([3, 3], { dtype: 'float64' }),
    ];
    const third = (fn: (x: Tensor) => Tensor): Tensor => {
      const x = start.clone().requiresGrad_();
      fn(x).mul(weight).sum().backward();
      return x.grad!.to('float32');
    };
    close(third(compile(second)), third(second).toArray());
  });
});
