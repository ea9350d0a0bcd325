/**
 * A communicator that only works with an event loop: gradients and buffers are shared by `synchronize()`, and
 * forgetting it is told.
 */
import { compile } from '@tessera/compile';
import { BatchNorm1d, Linear, Module, Sequential, optim } from '@tessera/nn';
import { type Tensor, ones, randn } from '@tessera/tensor';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  type Communicator,
  DistributedDataParallel,
  destroyProcessGroup,
  initProcessGroup,
} from '../src/index.js';
import { type Mirror, mirrorGroup } from './mirror.js';

let mirror: Mirror;
let canBlock = true;
/** What another rank flags as used. */
let usedElsewhere: readonly number[] = [];

beforeEach(async () => {
  // Two ranks with the same samples, over something that cannot block once training has begun.
  mirror = mirrorGroup(2, 'mirror');
  usedElsewhere = [];
  canBlock = true;
  const { communicator } = mirror.group;
  const changed: Communicator = {
    ...communicator,
    allReduce: (buffer, op) => {
      if (op === 'max') for (const i of usedElsewhere) buffer.view()[i] = 1;
      return communicator.allReduce(buffer, op);
    },
  };
  const backend = Object.defineProperty(changed, 'canBlock', { get: () => canBlock });
  await initProcessGroup({ backend });
});
afterEach(() => destroyProcessGroup());

/** Wraps a model while the communicator can block. */
function wrapped<M extends Module>(inner: M, options: object = {}): DistributedDataParallel<M> {
  canBlock = true;
  const model = new DistributedDataParallel(inner, options);
  canBlock = false;
  mirror.log.length = 0;
  return model;
}

it('a forward pass after an unreduced backward is distributed-pending', async () => {
  const inner = new Linear(3, 1);
  const model = wrapped(inner);
  const optimizer = new optim.SGD(model.parameters(), { lr: 0.5 });
  const before = inner.weight.toArray();
  const step = (): void =>
    model
      .call(ones([2, 3]))
      .sum()
      .backward();
  step();
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

it('synchronize() with nothing to reduce does nothing', async () => {
  const model = wrapped(new BatchNorm1d(3));
  await model.synchronize();
  expect(mirror.log).toEqual([]);
  canBlock = true;
  model
    .call(randn([4, 3]))
    .sum()
    .backward();
  mirror.log.length = 0;
  await model.synchronize();
  expect(mirror.log).toEqual([]);
});

class TwoHeads extends Module {
  left = new Linear(2, 1);
  right = new Linear(2, 1);
  override forward(x: Tensor): Tensor {
    return this.right.call(x);
  }
}

it('a parameter without gradient is an error that names it', () => {
  const model = wrapped(new TwoHeads());
  const loss = model.call(ones([3, 2])).sum();
  expect(() => loss.backward()).toThrow(/Rank 0: .*left\.bias, left\.weight/);
});

it('findUnusedParameters gives gradients to what some rank has used', async () => {
  const model = wrapped(new TwoHeads(), { findUnusedParameters: true });
  const { left, right } = model.module;
  const step = async (): Promise<void> => {
    model.zeroGrad();
    model
      .call(ones([3, 2]))
      .sum()
      .backward();
    await model.synchronize();
  };
  await step();
  expect(mirror.log.filter((line) => line.includes('max'))).toEqual(['start all_reduce max 4']);
  expect([left.weight.grad, left.bias!.grad]).toEqual([null, null]);
  expect(right.weight.grad!.toArray()).toEqual([[3, 3]]);
  usedElsewhere = [3]; // of left.weight, the last in reverse order
  await step();
  expect(left.weight.grad!.toArray()).toEqual([[0, 0]]);
  expect(left.bias!.grad).toBeNull();
});

it.each([
  ['eager', (fn: (x: Tensor) => Tensor) => fn],
  ['compiled', (fn: (x: Tensor) => Tensor) => compile(fn)],
])('buffers are those of rank 0 from synchronize() on: %s', async (_name, how) => {
  const model = wrapped(new Sequential(new Linear(3, 3), new BatchNorm1d(3)));
  const forward = how((x) => model.call(x) as Tensor);
  forward(randn([4, 3]))
    .sum()
    .backward();
  expect(mirror.log).toEqual([]);
  await model.synchronize();
  expect(mirror.log.filter((line) => line.includes('broadcast'))).toEqual([
    'start broadcast 3', // running_mean
    'start broadcast 3', // running_var
    'start broadcast 1', // num_batches_tracked
  ]);
});
