/**
 * What becomes of reductions whose step did not come to its end, or whose communicator failed.
 */
import { TesseraError } from '@tessera/shared';
import { Linear, Module } from '@tessera/nn';
import { type Tensor, cpuHeap, ones } from '@tessera/tensor';
import { afterEach, expect, test } from 'vitest';
import {
  type Communicator,
  DistributedDataParallel,
  type Pending,
  ProcessGroup,
  registerGroup,
} from '../src/index.js';
import { forgetGroup } from '../src/process-group.js';
import { mirrorGroup } from './mirror.js';

afterEach(() => forgetGroup('world'));

/** The mirror's group, with some reductions of gradients replaced by what `instead` returns. */
function groupWith(instead: (index: number, bytes: () => Uint8Array) => Pending | null): void {
  const { communicator, ranks } = mirrorGroup(2).group;
  let index = 0;
  const changed: Communicator = {
    ...communicator,
    allReduce: (buffer, op) =>
      instead(index++, () => buffer.view()) ?? communicator.allReduce(buffer, op),
  };
  registerGroup(new ProcessGroup('world', ranks, changed));
}

function failing(code: 'distributed-mismatch' | 'distributed-timeout'): Pending {
  const error = new TesseraError(code, 'the other rank is somewhere else');
  return {
    done: Promise.reject(error),
    waitSync: () => {
      throw error;
    },
  };
}

/** Two layers; its backward may stop when the gradient of the second has arrived. */
class Model extends Module {
  first = new Linear(4, 8, { bias: false });
  second = new Linear(8, 2, { bias: false });
  stops = false;
  override forward(x: Tensor): Tensor {
    const hidden = this.first.call(x);
    if (this.stops)
      hidden.registerHook(() => {
        throw new Error('the program stopped here');
      });
    return this.second.call(hidden);
  }
}

/** One bucket for each parameter. */
function wrapped(): DistributedDataParallel<Model> {
  return new DistributedDataParallel(new Model(), { bucketCapMb: 1e-6 });
}

function backward(model: DistributedDataParallel<Model>): void {
  model
    .call(ones([2, 4]))
    .sum()
    .backward();
}

function abandon(model: DistributedDataParallel<Model>): void {
  model.module.stops = true;
  expect(() => backward(model)).toThrow(/the program stopped here/);
  model.module.stops = false;
  model.zeroGrad();
}

test('the error of a reduction is what backward() throws, and the next step goes its way', () => {
  groupWith((index) => (index === 0 ? failing('distributed-mismatch') : null));
  const model = wrapped();
  expect(() => backward(model)).toThrow(expect.objectContaining({ code: 'distributed-mismatch' }));
  model.zeroGrad();
  backward(model);
  expect(model.module.parameters().every((p) => p.grad !== null)).toBe(true);
});

test('an abandoned step is not waited for, and its errors are nobody’s', () => {
  let waits = 0;
  groupWith((index) => {
    if (index > 0) return null;
    const pending = failing('distributed-mismatch');
    return { done: pending.done, waitSync: () => (waits++, pending.waitSync()) };
  });
  const model = wrapped();
  abandon(model);
  expect(() => backward(model)).not.toThrow();
  expect(waits).toBe(0);
});

test('memory of an abandoned reduction stays until the communicator is done with it', async () => {
  let finish!: () => void;
  let sent!: () => Uint8Array;
  groupWith((index, bytes) => {
    if (index > 0) return null;
    sent = bytes;
    const done = new Promise<void>((resolve) => (finish = resolve));
    return { done, waitSync: () => expect.unreachable() };
  });
  const model = wrapped();
  abandon(model);
  backward(model); // forgets the step before
  const before = model.module.parameters().map((p) => p.grad!.toArray());
  const others = Array.from({ length: 50 }, () => ones([4]));
  sent().fill(255);
  expect(others.every((one) => one.sum().item() === 4)).toBe(true);
  expect(model.module.parameters().map((p) => p.grad!.toArray())).toEqual(before);
  const live = cpuHeap().stats().liveBytes;
  finish();
  await Promise.resolve();
  await Promise.resolve();
  expect(cpuHeap().stats().liveBytes).toBeLessThan(live);
});
