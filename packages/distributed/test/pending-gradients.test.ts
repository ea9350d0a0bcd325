/**
 * Gradients that can only be reduced with an event loop are not there until `synchronize()`, and forgetting it is told.
 */
import { Linear, optim } from '@tessera/nn';
import { ones } from '@tessera/tensor';
import { afterEach, expect, it } from 'vitest';
import { DistributedDataParallel, destroyProcessGroup, initProcessGroup } from '../src/index.js';
import { mirrorGroup } from './mirror.js';

afterEach(() => destroyProcessGroup());

it('a forward pass after an unreduced backward is distributed-pending', async () => {
  // Two ranks with the same samples, over something that cannot block once training has begun.
  const { communicator } = mirrorGroup(2, 'mirror').group;
  let canBlock = true;
  const backend = Object.defineProperty({ ...communicator }, 'canBlock', { get: () => canBlock });
  await initProcessGroup({ backend });
  const inner = new Linear(3, 1);
  const model = new DistributedDataParallel(inner);
  canBlock = false;
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
  const before = inner.weight.toArray();
  model
    .call(ones([2, 3]))
    .sum()
    .backward();
  expect(inner.weight.grad).toBeNull();
  optimizer.step();
  expect(inner.weight.toArray()).toEqual(before);
  expect(() => model.call(ones([2, 3]))).toThrow(
    expect.objectContaining({ code: 'distributed-pending' }),
  );
  await model.synchronize();
  expect(inner.weight.grad!.toArray()).toEqual([[2, 2, 2]]);
  optimizer.step();
  expect(inner.weight.toArray()).not.toEqual(before);
  expect(() => model.call(ones([2, 3]))).not.toThrow();
});
