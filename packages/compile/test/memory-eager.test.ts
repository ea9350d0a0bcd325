/**
 * @file Eager training without dispose() holds both heaps under a fixed bound.
 */
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, cpuHeap, fromTypedArray, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { fullTests } from '../../../tooling/full-tests.js';
import '../src/index.js';

const STEPS = fullTests ? 50_000 : 15_000;
const MIB = 2 ** 20;
/** Dead tensors are looked for whenever so much has been allocated since; 32 MiB is what was measured. */
const TENSOR_BOUND = 64 * MIB;
/** Of objects that live in V8's heap, most of them dead until its next collection. */
const OBJECT_BOUND = 512 * MIB;

it(`${STEPS} eager training steps stay under a fixed bound`, { timeout: 300_000 }, () => {
  const model = new Sequential(new Linear(16, 16), new ReLU(), new Linear(16, 4));
  const optimizer = new optim.SGD(model.parameters(), { lr: 1e-3, momentum: 0.9 });
  const x = fromTypedArray(
    Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)),
    [16, 16],
  );
  const t = tensor(
    Array.from({ length: 16 }, (_, i) => i % 4),
    { dtype: 'int64' },
  );
  const step = (): number => {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(x) as Tensor, t);
    loss.backward();
    optimizer.step();
    return loss.item();
  };
  const first = step();
  let last = first;
  let committed = 0;
  let objects = 0;
  for (let i = 1; i < STEPS; i++) {
    last = step();
    if (i % 500 !== 0) continue;
    committed = Math.max(committed, cpuHeap().stats().committedBytes);
    objects = Math.max(objects, process.memoryUsage().heapUsed);
  }
  expect(last).toBeLessThan(0.5 * first);
  expect(committed).toBeLessThanOrEqual(TENSOR_BOUND);
  expect(objects).toBeLessThanOrEqual(OBJECT_BOUND);
});
