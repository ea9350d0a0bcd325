/**
 * @file Operators whose results have as many elements as values say, by code of their own: what programs get is what the reference
 * kernels give.
 */
import { type Tensor, randint, randn } from '@tessera/tensor';
import { beforeAll, expect, it, vi } from 'vitest';
import { cpuBackend } from '@tessera/inductor-cpu';
import { compile, config, useSelection } from '../src/index.js';

beforeAll(useSelection);

const x = randn([20, 30]);
const ids = randint(0, 9, [600]);

const CASES: Readonly<Record<string, () => Tensor | Tensor[]>> = {
  nonzero: () => x.relu().nonzero(),
  'nonzero, one vector per dimension': () => x.gt(0).nonzeroNumpy(),
  argwhere: () => x.t().argwhere(),
  'masked select': () => x.maskedSelect(x.gt(0.5)),
  'masked select of a broadcast mask': () => x.maskedSelect(x.narrow(1, 0, 1).gt(0)),
  bincount: () => ids.bincount({ minlength: 12 }),
  unique: () => ids.reshape([20, 30]).unique({ returnInverse: true, returnCounts: true }),
  'unique of a turned matrix': () => x.t().unique(),
  'consecutive ones': () => ids.uniqueConsecutive({ returnCounts: true }),
};

const read = (results: Tensor | Tensor[]): unknown =>
  [results].flat().map((each) => [each.dtype, each.sizes, each.toArray()]);

it.each(Object.keys(CASES))('%s', (name) => {
  const run = CASES[name]!;
  const wanted = config.patch({ 'eager.kernels': 'reference' }, () => read(run()));
  expect(read(run())).toEqual(wanted);
  expect(read(compile(run)())).toEqual(wanted);
});

it('reference kernels are not passed over where they are asked for', () => {
  const produce = vi.spyOn(cpuBackend, 'produce');
  x.nonzero();
  expect(produce).toHaveBeenCalledTimes(1);
  config.patch({ 'eager.kernels': 'reference' }, () => x.nonzero());
  expect(produce).toHaveBeenCalledTimes(1);
  produce.mockRestore();
});

it('gradients of a masked select are those under the mask', () => {
  const leaf = x.detach().clone().requiresGrad_();
  leaf.maskedSelect(x.gt(0)).sum().backward();
  expect(leaf.grad!.toArray()).toEqual(x.gt(0).to('float32').toArray());
});
